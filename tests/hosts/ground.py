"""A home with the file of one host, and what is done with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from msgspec import Struct

from switchboard.hosts.applying import Applied, Reverted, apply, revert
from switchboard.hosts.change import OUR_NAME, FileChange, changed
from switchboard.hosts.edits.edit import Format, decoded, read_tree
from switchboard.hosts.edits.trees import value_at
from switchboard.hosts.found import FoundHostFile, find_host
from switchboard.hosts.granting import granted_with_entry
from switchboard.hosts.host import Host
from switchboard.hosts.places import HostRoots
from switchboard.hosts.record import HostRecord
from switchboard.hosts.spelled import our_entry
from switchboard.hosts.table import host_named

COMMAND = ("switchboard", "mcp")
READING = ("notes_read",)


class Ground(Struct, frozen=True):
    """A home of a user, beside a home of ours."""

    root: Path

    @property
    def places(self) -> HostRoots:
        """Where hosts keep their files here, without a variable of the machine."""
        return HostRoots(
            user_home=str(self.root / "user"), project=str(self.root / "project"), environ={}
        )

    def record(self) -> HostRecord:
        """Open the record of our home, to be taken with `with`."""
        return HostRecord(str(self.root / "home"))

    def file(self, host: Host) -> FoundHostFile:
        """Find the file that our entry belongs into."""
        return find_host(host, self.places).own_file

    def put(self, host: Host, raw: bytes) -> Path:
        """Write the file of a host."""
        path = Path(self.file(host).path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        return path

    def change(self, host: Host, moved: tuple[str, ...] = ()) -> FileChange:
        """Make the change that enters us, as it is where our gate asks."""
        found = self.file(host)
        entry = our_entry(host, COMMAND, is_guarded=True, variables={"XDG_RUNTIME_DIR": "run"})
        granted = granted_with_entry(host, found.raw, is_guarded=True, reading=READING)
        return changed(found.place, found.raw, {OUR_NAME: entry}, moved, granted)

    def enter(self, host: Host, moved: tuple[str, ...] = ()) -> list[Applied]:
        """Enter us into a host."""
        with self.record() as record:
            return [*apply([self.change(host, moved)], record, 0.0)]

    def take_back(self, *hosts: str) -> list[Reverted]:
        """Revert these hosts, or all."""
        with self.record() as record:
            return [*revert(record, hosts)]


def named(name: str) -> Host:
    """Find a host that is there."""
    host = host_named(name)
    assert host is not None
    return host


def tree_of(raw: bytes, form: Format) -> dict[str, Any]:
    """What a file says."""
    return read_tree(decoded(raw), form)


def servers_of(raw: bytes, found: FoundHostFile) -> Mapping[str, Any]:
    """Which servers a file of a host names."""
    return value_at(tree_of(raw, found.file.form), found.file.servers) or {}


def rewritten(raw: bytes, form: Format) -> bytes:
    """The same as another writer has it: nothing but the tree is left, in another order."""
    tree = tree_of(raw, form)
    turned = dict(reversed(tree.items()))
    if form in {"json", "jsonc"}:
        return json.dumps(turned, indent=7, separators=(" ,", ":")).encode()
    if form == "yaml":
        return yaml.safe_dump(turned, indent=4).encode()
    return ("# anew\n" + _toml(turned, ())).encode()


def _toml(table: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """Each key on a line of its own, each table with a header."""
    plain = {key: each for key, each in table.items() if not isinstance(each, dict)}
    lines = [f"[{'.'.join(map(json.dumps, path))}]\n"] if path else []
    lines += [f"{json.dumps(key)}={json.dumps(each)}\n" for key, each in plain.items()]
    for key, each in table.items():
        if isinstance(each, dict):
            lines.append(_toml(cast("dict[str, Any]", each), (*path, key)))
    return "".join(lines)
