"""What a person decided for good about hosts that are not on a list. One file of the home."""

import hashlib
import os

import msgspec

from switchkit.files import read_own_file, replace_file
from switchkit.locks import FileLock

_NAME = "egress.json"
_MOST_BYTES = 1 << 20
# By server, by the digest of what it runs, by `host:port`: whether it may be reached.
Decided = dict[str, dict[str, dict[str, bool]]]


class EgressDecisions:
    """Reads and writes the file. One that cannot be read, or believed, decides nothing."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._path = os.path.join(home, _NAME)

    def find(self, server: str, runs: str, where: str) -> bool | None:
        """What was decided about a host, if anything was, for what the server runs now."""
        return self._all().get(server, {}).get(_digest(runs), {}).get(where)

    def put(self, server: str, runs: str, where: str, *, allowed: bool) -> None:
        """From now on this holds. Raises OSError."""
        with FileLock(f"{self._path}.lock"):
            found = self._all()
            found.setdefault(server, {}).setdefault(_digest(runs), {})[where] = allowed
            self._write(found)

    def forget(self, server: str, where: str) -> bool:
        """Let it be asked again; whether anything was decided. Raises OSError."""
        with FileLock(f"{self._path}.lock"):
            found = self._all()
            known = [each for each in found.get(server, {}).values() if where in each]
            for hosts in known:
                del hosts[where]
            if known:
                self._write(found)
            return bool(known)

    def hosts(self) -> dict[str, dict[str, bool]]:
        """The decisions by server, whatever it ran then. Of two, a no is told."""
        told: dict[str, dict[str, bool]] = {}
        for server, versions in self._all().items():
            hosts = told.setdefault(server, {})
            for version in versions.values():
                for where, allowed in version.items():
                    hosts[where] = hosts.get(where, True) and allowed
        return told

    def _write(self, found: Decided) -> None:
        kept = {
            server: {digest: hosts for digest, hosts in versions.items() if hosts}
            for server, versions in found.items()
        }
        kept = {server: versions for server, versions in kept.items() if versions}
        replace_file(self._path, msgspec.json.format(msgspec.json.encode(kept)) + b"\n")

    def _all(self) -> Decided:
        try:
            data = read_own_file(self._home, self._path, _MOST_BYTES)
            return msgspec.json.decode(data, type=Decided)
        except (OSError, msgspec.MsgspecError):
            return {}


def _digest(runs: str) -> str:
    return hashlib.sha256(runs.encode("utf-8", "surrogatepass")).hexdigest()
