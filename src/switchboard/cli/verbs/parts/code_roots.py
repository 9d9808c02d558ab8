"""What has to be readable for a program or a script to run: where it lies, and what it loads."""

import os
from collections.abc import Iterator

from switchkit.platform.paths import true_path

_PACKAGES = "node_modules"
# A folder with one of these is a project, whose parts load each other.
_PROJECTS = ("package.json", "pyproject.toml")
_MOST_LINKS = 40


def code_roots(path: str, home: str) -> Iterator[str]:
    """The folders of a file, of every file that it is a link to, and of the packages around it."""
    for each in _links(path):
        yield code_root(each, home)
    real = true_path(path)
    yield code_root(real, home)
    around = _around(real)
    if around and not _is_wide(around, home):
        yield around


def code_root(path: str, home: str) -> str:
    """The folder of a file, or the folder itself; the file alone where its folder is a home."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    return path if _is_wide(folder, home) else folder


def _is_wide(folder: str, home: str) -> bool:
    """Whether it is a home, or what homes are in: more than anybody means."""
    return os.path.commonpath([folder, home]) == folder


def _links(path: str) -> Iterator[str]:
    """The path, and what it leads to link by link, but for the last."""
    for _ in range(_MOST_LINKS):
        yield path
        if not os.path.islink(path):
            return
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))


def _around(real: str) -> str:
    """The folder in which a file finds its packages, or nothing."""
    parts = real.split(os.sep)
    if _PACKAGES in parts:
        # The outermost: what is not beside a package is further out.
        return os.sep.join(parts[: parts.index(_PACKAGES) + 1])
    folder = os.path.dirname(real)
    while folder != os.path.dirname(folder):
        if any(os.path.exists(os.path.join(folder, name)) for name in _PROJECTS):
            return folder
        folder = os.path.dirname(folder)
    return ""
