"""One digest of all that an engine would follow in a workspace, and what it would run in words."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator

from msgspec import Struct

from switchboard.core.privacy.cleaning import cleaned_line
from switchkit.platform.paths import true_path

# Beside the digests of other things in one record; nothing else is written this way.
_MARK = "engine:"
# More than anybody can look at is not trusted.
_MOST_FILES = 500
_MOST_BYTES = 8 * 1024 * 1024
_MOST_NAMED = 200
# What stands between the words of a command line, in JSON, TOML or a script.
_BETWEEN = re.compile(r"""[\s"'`,;=()\[\]{}<>|&]+""")
_PROJECT = re.compile(r"\$\{?CLAUDE_PROJECT_DIR\}?/?|^\./")
# What of settings says what is run, as far as anybody would read it.
_COMMAND = re.compile(
    r"""\b(command|cmd|args|notify|plugin|\w*[Hh]elper)\b["']?\s*[:=]\s*"""
    r"""("(?:[^"\\]|\\.){0,1000}+"?|'[^']{0,1000}+'?|\[[^\]]{0,1000}+\]?)"""
)
_LONGEST_WORDS = 160
_MOST_WORDS = 20


class SettingsUnbound(Exception):
    """They cannot be bound to a digest; the text says why."""


class Followed(Struct, frozen=True, kw_only=True):
    """What one engine follows in a folder."""

    # Any of these makes it worth asking.
    signs: tuple[str, ...]
    # All of it, the first by the name that people know.
    parts: tuple[str, ...]
    # Whether it may look into the folders above the workspace, too, and cannot be kept from that.
    looks_above: bool = True

    def is_in(self, folder: str) -> bool:
        """Whether there is anything to follow in a folder."""
        return any(os.path.lexists(os.path.join(folder, sign)) for sign in self.signs)

    def is_around(self, cwd: str, workspace: str, user_home: str) -> bool:
        """Whether another folder than the workspace has its own: below it, or above it.

        Above, the user's own folder is the end: those settings are the user's own.
        """
        for folder in _upwards(cwd):
            if folder == user_home:
                return False
            is_above = not _is_within(folder, workspace)
            if is_above and not self.looks_above:
                return False
            names = self.signs if is_above else self.parts
            if folder != workspace and any(
                os.path.lexists(os.path.join(folder, name)) for name in names
            ):
                return True
        return False


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        yield folder


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def print_of(followed: Followed, workspace: str) -> str:
    """Of every file that the engine follows there, and of every file that these name.

    Blocks. Raises `SettingsUnbound`.
    """
    digest = hashlib.sha256(workspace.encode())
    named: dict[str, None] = {}
    own: set[str] = set()
    for path, data in _contents(followed, workspace):
        own.add(path)
        digest.update(_framed(os.path.relpath(path, workspace), data))
        named |= dict.fromkeys(_named_in(data, os.path.dirname(path), workspace))
    others = [path for path in named if path not in own]
    if len(others) > _MOST_NAMED:
        raise SettingsUnbound(f"it names more than {_MOST_NAMED} files of the workspace")
    for path in sorted(others):
        # A script stays the same word when the repository changes what it does.
        digest.update(_framed(os.path.relpath(path, workspace), _bytes_of(path, _MOST_BYTES)))
    return f"{_MARK}{followed.parts[0]}:{digest.hexdigest()}"


def words_of(followed: Followed, workspace: str) -> str:
    """Which files there are, and the commands that they name. Blocks. Raises `SettingsUnbound`."""
    files: list[str] = []
    commands: list[str] = []
    for path, data in _contents(followed, workspace):
        files.append(cleaned_line(os.path.relpath(path, workspace), _LONGEST_WORDS))
        commands += (
            cleaned_line(f"{found[1]} {found[2]}", _LONGEST_WORDS)
            for found in _COMMAND.finditer(data.decode("utf-8", "replace"))
        )
    said = [*files[:_MOST_WORDS], *commands[:_MOST_WORDS]]
    more = len(files) + len(commands) - len(said)
    return "; ".join([*said, f"and {more} more"] if more else said)


def _contents(followed: Followed, workspace: str) -> Iterator[tuple[str, bytes]]:
    left = _MOST_BYTES
    count = 0
    for part in followed.parts:
        for path in _files_below(os.path.join(workspace, part)):
            count += 1
            if count > _MOST_FILES:
                raise SettingsUnbound(f"it has more than {_MOST_FILES} files")
            data = _bytes_of(path, left)
            left -= len(data)
            yield path, data


def _files_below(path: str) -> Iterator[str]:
    """A file itself, or all files of a folder, in order. A link is followed nowhere."""
    if os.path.islink(path):
        name = os.path.basename(path)
        raise SettingsUnbound(f"`{name}` is a link, which may lead elsewhere later")
    if not os.path.isdir(path):
        if os.path.lexists(path):
            yield path
        return
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise SettingsUnbound(f"it cannot be read: {(error.strerror or '').lower()}") from None
    for name in names:
        yield from _files_below(os.path.join(path, name))


def _bytes_of(path: str, most: int) -> bytes:
    try:
        # A pipe in its place would hold up who opens it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise SettingsUnbound(f"`{os.path.basename(path)}` is not a file")
            data = file.read(most + 1)
    except OSError as error:
        raise SettingsUnbound(f"it cannot be read: {(error.strerror or '').lower()}") from None
    if len(data) > most:
        raise SettingsUnbound(f"it is larger than {_MOST_BYTES // 1024 // 1024} MiB")
    return data


def _named_in(data: bytes, folder: str, workspace: str) -> Iterator[str]:
    """The files of the workspace that a text names, as seen from there or from beside it."""
    text = data.decode("utf-8", "replace")
    for word in {_PROJECT.sub("", each) for each in _BETWEEN.split(text)}:
        for base in (workspace, folder) if word and "\0" not in word else ():
            path = true_path(os.path.join(base, word))
            if path.startswith(workspace.rstrip(os.sep) + os.sep) and os.path.isfile(path):
                yield path


def _framed(name: str, data: bytes) -> bytes:
    """A file so that no two lists of files come to the same bytes."""
    words = name.encode("utf-8", "surrogateescape")
    return b"%d:%b%d:%b" % (len(words), words, len(data), data)
