"""What a person decided for good about hosts that are not on a list. One file of the home."""

import hashlib
import os

import msgspec
from msgspec import Struct

from switchkit.files import open_plain, replace_file
from switchkit.locks import FileLock

_NAME = "egress.json"
_MOST_BYTES = 1 << 20


class ServerDecisions(Struct, frozen=True):
    """The decisions about one server, as long as it runs what it ran then."""

    # Of what it runs.
    digest: str
    # `host:port`, and whether it may be reached.
    hosts: dict[str, bool] = {}


class EgressDecisions:
    """Reads and writes the file. A file that cannot be read decides nothing."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, _NAME)

    def find(self, server: str, runs: str, where: str) -> bool | None:
        """What was decided about a host, if anything was."""
        known = self.all().get(server)
        return known.hosts.get(where) if known and known.digest == _digest(runs) else None

    def put(self, server: str, runs: str, where: str, *, allowed: bool) -> None:
        """From now on this holds. Raises OSError."""
        with FileLock(f"{self._path}.lock"):
            found = self.all()
            known, digest = found.get(server), _digest(runs)
            hosts = known.hosts if known is not None and known.digest == digest else {}
            found[server] = ServerDecisions(digest, {**hosts, where: allowed})
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(found)) + b"\n")

    def forget(self, server: str, where: str) -> bool:
        """Let it be asked again; whether anything was decided. Raises OSError."""
        with FileLock(f"{self._path}.lock"):
            found = self.all()
            known = found.get(server)
            if known is None or where not in known.hosts:
                return False
            hosts = {each: value for each, value in known.hosts.items() if each != where}
            found[server] = ServerDecisions(known.digest, hosts)
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(found)) + b"\n")
            return True

    def all(self) -> dict[str, ServerDecisions]:
        """The decisions by server."""
        try:
            with open(self._path, "rb", opener=open_plain) as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=dict[str, ServerDecisions])
        except (OSError, msgspec.MsgspecError):
            return {}


def _digest(runs: str) -> str:
    return hashlib.sha256(runs.encode("utf-8", "surrogatepass")).hexdigest()
