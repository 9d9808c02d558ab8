"""A command line, the folder that it runs in, and whose files that folder has."""

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.schema import Seal
from switchboard.settings.consent.looking import counted, landed, reached, resolved
from switchkit.commands import lies_in
from switchkit.git.ground import ground_of
from switchkit.platform.paths import true_path

# Where programs are found, whatever a search path says.
_USUAL = ("/usr/local/bin", "/usr/bin", "/bin")
# By its name and by its path.
Lead = tuple[str, str]


class Unfollowed(Exception):
    """A command line of which nobody can tell what it leads to; it says why."""


class Leads(Struct, frozen=True, kw_only=True):
    """The files and folders that a command line names, with a name each."""

    files: tuple[Lead, ...] = ()
    # Whatever lies in them.
    folders: tuple[Lead, ...] = ()

    def with_those(self, other: "Leads") -> "Leads":
        """Both, one behind the other."""
        return Leads(files=self.files + other.files, folders=self.folders + other.folders)


class CommandLine(Struct, frozen=True, kw_only=True):
    """Words, and everything that decides what they mean."""

    words: tuple[str, ...]
    # Absolute, as it is named.
    folder: str
    # What came with the workspace, without links, and where programs are looked for.
    root: str
    path: str = ""
    env: Mapping[str, str] = {}

    def saying(self, words: Sequence[str], folder: str = "") -> "CommandLine":
        """Another line in the same place, or in another folder."""
        return replace(self, words=tuple(words), folder=folder or self.folder)

    def at(self, name: str) -> str:
        """The path of a name, as it is: what is above a link is not where the name says."""
        return os.path.join(self.folder, name)

    def is_inside(self, path: str) -> bool:
        """Whether a path that has no links lies in the workspace."""
        return path == self.root or path.startswith(self.root.rstrip(os.sep) + os.sep)

    def holds(self, name: str) -> bool:
        """Whether a name is one of the workspace, wherever it leads."""
        return self.is_inside(os.path.normpath(reached(self.at(name))))

    def is_own_file(self, name: str) -> bool:
        """Whether a name leads to a plain file of the workspace."""
        path = landed(self.at(name))
        return "\0" not in name and self.is_inside(path) and os.path.isfile(path)

    def is_own_folder(self, name: str) -> bool:
        """Whether a name leads to a folder of the workspace."""
        path = landed(self.at(name))
        return "\0" not in name and self.is_inside(path) and os.path.isdir(path)

    def places_inside(self) -> Iterator[str]:
        """The folders of the PATH that lie in the workspace, or are named from where it runs."""
        for each in counted(self.path.split(os.pathsep)):
            if not os.path.isabs(each) or self.is_inside(resolved(each)):
                yield each or "."

    def programs(self, name: str) -> Iterator[str]:
        """Where a program of this name is found, by the search path that counts here."""
        folders = self.path.split(os.pathsep) if self.path else os.get_exec_path()
        for place in counted(dict.fromkeys((*folders, *_USUAL))) if os.sep not in name else ():
            path = os.path.join(place, name)
            if os.path.isabs(place) and os.path.lexists(path) and not os.path.isdir(path):
                yield path

    def upwards(self) -> Iterator[str]:
        """The folder, and those above it, as paths without links.

        Who looks for settings upwards does not stop where the workspace ends; what is beside the
        home of the user, or above it, is the user's own.
        """
        at, home = resolved(self.folder), true_path(os.path.expanduser("~"))
        is_within = self.is_inside(at)
        while is_within and at != os.sep and (self.is_inside(at) or not lies_in(home, at)):
            yield at
            at = os.path.dirname(at)


def lines_of(seal: Seal, workspace: str) -> Iterator[CommandLine]:
    """The command lines of an entry: most have one."""
    env = dict(seal.env)
    for words in seal.lines or (seal.words,):
        yield CommandLine(
            words=words,
            folder=seal.cwd or workspace,
            root=ground_of(workspace),
            path=env.get("PATH") or seal.path,
            env=env,
        )
