"""What a call to a server's tool would start or reach, for whoever has to judge it."""

import hashlib

import msgspec

from switchboard.children.schema import ServerEntry
from switchboard.core.launches import Launch
from switchboard.core.origins import Origin
from switchboard.core.tools import ToolSpec
from switchboard.wire.messages import encode

_MOST_KEPT = 1_024


class Launcher:
    """The launches of one server. Its entry never changes; its tools may."""

    def __init__(self, entry: ServerEntry) -> None:
        self._entry = entry
        stated = encode(msgspec.structs.replace(entry, origin=Origin()))
        self._fingerprint = entry.fingerprint or hashlib.sha256(stated).hexdigest()
        self._env_hash = hashlib.sha256(encode(sorted(entry.env.items()))).hexdigest()
        # By the very definition: a server that changes it gets another.
        self._kept: dict[ToolSpec, Launch] = {}

    def of(self, tool: ToolSpec) -> Launch:
        """What a call of this tool would do."""
        kept = self._kept.get(tool)
        if kept is not None:
            return kept
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        entry = self._entry
        launch = self._kept[tool] = Launch(
            tool=tool,
            server=entry.name,
            fingerprint=self._fingerprint,
            runs=entry.url or " ".join((entry.command, *entry.args)),
            cwd=entry.cwd,
            env=entry.env,
            secrets=(*entry.secret_env, *entry.headers),
            env_hash=self._env_hash,
            sandbox=entry.sandbox_profile,
            network=entry.allow_network or entry.sandbox_profile == "none",
            writable_roots=entry.writable_roots,
            trusts_annotations=entry.trust_annotations,
        )
        return launch
