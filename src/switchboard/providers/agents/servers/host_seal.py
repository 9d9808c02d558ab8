"""What a file of another host in a workspace is trusted with: commands, their files, variables."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

from switchboard.children.schema import Seal
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.servers.host_fields import EntryUnusable, HostFields, variables_of
from switchboard.providers.agents.servers.host_file import HostFile
from switchboard.settings.consent.sealed_files import files_to_watch
from switchboard.settings.fingerprints import seal_of
from switchboard.settings.secret_rules import loads_code
from switchkit.platform.paths import true_path

# What hosts and shells call the workspace; any other variable may lead anywhere.
_WORKSPACE_VARIABLES = ("PWD", "CLAUDE_PROJECT_DIR")


class HostSeal:
    """The entries of one file as they are written: no variable of the user is looked at."""

    def __init__(
        self, file: HostFile, entries: Mapping[str, Any], workspace: str, home: str
    ) -> None:
        self._workspace = workspace
        environ: dict[str, str] = dict.fromkeys(_WORKSPACE_VARIABLES, workspace)
        self._fill = HostFields(file.host, environ, workspace, home)
        self._file = file
        self._entries = entries

    def seal(self, digest: str) -> Seal:
        """What is bound, for a file of these bytes."""
        fields = {
            "digest": digest,
            "env": {name: given_to(each) for name, each in self._entries.items()},
            "filled": {name: filled_in(each, self._file) for name, each in self._entries.items()},
        }
        lines = tuple(tuple(line) for line in self._lines())
        return seal_of(
            "host",
            os.path.basename(self._file.path),
            fields,
            self._workspace,
            words=tuple(word for line in lines for word in line),
            lines=lines,
            cwd=self._workspace,
            env=self._values(),
            binding=True,
        )

    def check(self, launch: AttachedServer) -> None:
        """Refuse what a repository may not have. Raises `EntryUnusable`."""
        for key in launch.env:
            refuse_loader(key)
        bound = set(files_to_watch(self.seal(""), self._workspace))
        below = true_path(self._workspace) + os.sep
        for word in (launch.command, *launch.args):
            path = true_path(os.path.join(self._workspace, word.replace("\0", "")))
            # Trust was bound to the files that the text names without the user's variables.
            if path.startswith(below) and path not in bound and os.path.isfile(path):
                name = os.path.relpath(path, below)
                raise EntryUnusable(
                    f"a variable leads it to `{name}`, which trust does not cover; name the file"
                    " by its path in the workspace"
                )

    def _values(self) -> dict[str, str]:
        """What variables hold; those of several entries under one name, one behind the other."""
        found: dict[str, list[str]] = {}
        for fields in self._entries.values():
            env: Any = fields.get("env")
            for name, value in cast("dict[str, Any]", env if isinstance(env, dict) else {}).items():
                found.setdefault(name, []).append(str(value))
        return {name: os.pathsep.join(values) for name, values in found.items()}

    def _lines(self) -> Iterator[Iterator[str]]:
        for fields in self._entries.values():
            yield map(self._filled, words_of(fields))

    def _filled(self, word: str) -> str:
        try:
            return self._fill(word)
        except EntryUnusable:
            return word


def words_of(fields: Mapping[str, Any]) -> list[str]:
    """The command line of an entry, as it is written."""
    args: Any = fields.get("args") or []
    words = [fields.get("command"), *(cast("list[Any]", args) if isinstance(args, list) else [])]
    return [str(word) for word in words]


def given_to(fields: Mapping[str, Any]) -> list[str]:
    """The names of the variables that an entry sets for its server."""
    env: Any = fields.get("env")
    return sorted(cast("dict[str, Any]", env)) if isinstance(env, dict) else []


def filled_in(fields: Mapping[str, Any], file: HostFile) -> list[str]:
    """The names of the user's own variables whose values an entry takes."""
    return sorted(set(variables_of(fields, file.host)))


def refuse_loader(key: str) -> None:
    """As for every server of a repository. Raises `EntryUnusable`."""
    if loads_code(key, repository=True):
        raise EntryUnusable(f"`{key}` can make the server run foreign code and is not allowed here")
