"""Which repository a folder belongs to, by the address of its remote.

Git is not run for it: what a repository sets up for git could run programs. Its files are read, as
little of them as is needed, and whatever is strange in them counts as no remote.
"""

import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache

from switchkit.patterns import pattern
from switchkit.platform.paths import true_path

_MOST_BYTES = 256 << 10
_PORTS = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418}
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[^@/:?#\\\s\[\]]+)"
# Not by `urllib`, which is slow to load: patterns are checked wherever settings are read.
_LONG = pattern(
    rf"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#\\\s]*@)?{_HOST}(?::([0-9]*))?(?:(/[^?#]*).*)?"
)
# `git@host:path`, which has no scheme; a slash before the colon makes it a path of this machine.
_SHORT = pattern(rf"(?:[^@/:\s]+@)?{_HOST}:(?!:)(.*)")
_SECTION = pattern(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\](.*)')
_KEY = pattern(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def remote_of(folder: str) -> str:
    """The remote of the repository that a folder lies in, as `host/path`; empty if it has none.

    `origin` counts; where there is none of that name, the only one there is.
    """
    git = _git_folder(folder)
    if not git:
        return ""
    path = os.path.join(git, "config")
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return _remote_in(path, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


@lru_cache(maxsize=64)
def _remote_in(path: str, state: tuple[int, ...]) -> str:
    """The remote that settings name. They are read once for each state that they are in."""
    del state
    urls: dict[str, str] = {}
    for name, url in _remotes(git_text(path)):
        # Git asks the first, if there are several.
        urls.setdefault(name, url)
    if "origin" in urls:
        return normalised(urls["origin"])
    return normalised(next(iter(urls.values()))) if len(urls) == 1 else ""


def normalised(url: str) -> str:
    """An address of a remote as `host/path`, whichever way it is written; empty if it is local."""
    if (long := _LONG.fullmatch(url)) is not None:
        scheme, host, port, path = long.groups(default="")
        usual = _PORTS.get(scheme.lower())
        if usual is None:
            return ""
        if port not in ("", str(usual)):
            host = f"{host}:{port}"
    elif "://" not in url and (short := _SHORT.fullmatch(url)) is not None:
        host, path = short.groups()
    else:
        return ""
    names = [name for name in path.split("/") if name]
    if not names or {".", ".."} & {*names}:
        return ""
    text = "/".join([host, *names]).removesuffix(".git")
    # Hosts of repositories do not tell capital letters apart.
    return text.lower() if text.isprintable() and " " not in text else ""


def _git_folder(folder: str) -> str:
    """Where the settings of a folder's repository lie; empty if it is in none of ours."""
    here = true_path(folder)
    while True:
        path = os.path.join(here, ".git")
        try:
            found = os.stat(path)
        except OSError:
            above = os.path.dirname(here)
            if above == here:
                return ""
            here = above
            continue
        break
    # Git refuses the repository of another user, too: `.git` may lie in a folder of all users.
    if found.st_uid != os.getuid():
        return ""
    if not stat.S_ISDIR(found.st_mode):
        # A worktree or a submodule: the file says where the rest is.
        said = git_text(path).strip()
        if not said.startswith("gitdir:"):
            return ""
        path = os.path.join(here, said.removeprefix("gitdir:").strip())
    shared = git_text(os.path.join(path, "commondir")).strip()
    return os.path.join(path, shared) if shared else path


def git_text(path: str) -> str:
    """A file as text; empty if it cannot be read, is none, or is too long."""
    try:
        # A pipe in its place must not hold us.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        try:
            read = file.read(_MOST_BYTES + 1)
        except OSError:
            return ""
    return read.decode("utf-8", "replace") if len(read) <= _MOST_BYTES else ""


def _remotes(text: str) -> Iterator[tuple[str, str]]:
    """The names and addresses of remotes in the settings of a repository. Others' are not read."""
    name = ""
    # Not by `splitlines`, which knows more ends of lines than git does.
    lines = iter(text.split("\n"))
    for line in lines:
        rest = line
        if (section := _SECTION.match(line)) is not None:
            kind, own, rest = section.groups()
            first, _, old = kind.partition(".")
            plain = re.sub(r"\\(.)", r"\1", own) if own is not None else old
            name = plain if first.lower() == "remote" else ""
        key = _KEY.match(rest)
        # A value that goes on takes its next lines with it, whoever wants it or not.
        if key is None or not (name or rest.endswith("\\")):
            continue
        value = _value(key[2], lines)
        if name and key[1].lower() == "url" and value:
            yield name, value


def _value(text: str, lines: Iterator[str]) -> str:
    """What stands behind `=`, with quotes, comments and lines that go on."""
    found: list[str] = []
    is_quoted = False
    # Blanks at the end do not count, those in quotes do.
    length = 0
    place = 0
    while place < len(text):
        letter = text[place]
        place += 1
        if letter == "\\":
            if place == len(text):
                text, place = next(lines, ""), 0
                continue
            found.append(_ESCAPES.get(text[place], text[place]))
            place += 1
        elif letter == '"':
            is_quoted = not is_quoted
            continue
        elif letter in "#;" and not is_quoted:
            break
        else:
            found.append(letter)
            if letter.isspace() and not is_quoted:
                continue
        length = len(found)
    return "".join(found[:length])
