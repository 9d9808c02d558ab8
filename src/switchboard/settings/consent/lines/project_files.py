"""What package runners obey in the folders that they run in: their settings and manifests."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from switchboard.settings.consent.lines.command_lines import Lead, Unfollowed
from switchboard.settings.consent.looking import looking, names_in
from switchkit.files import open_plain

_OBEYED = {
    "npx": (".npmrc", "package.json"),
    "uvx": ("uv.toml", "pyproject.toml", ".python-version", ".python-versions"),
    "uv": (
        *("uv.toml", "pyproject.toml", ".python-version", ".python-versions", "uv.lock"),
        *("setup.py", "setup.cfg"),
    ),
}
_CUSTOMIZERS = ("sitecustomize", "usercustomize")
_MOST_BYTES = 1 << 20
# By these a manifest of Python runs more files than it names.
_LOADS_MORE = (
    ("build-system", "backend-path"),
    ("tool", "uv", "sources"),
    ("tool", "uv", "workspace"),
    ("tool", "hatch", "build", "hooks"),
)


def files_of_projects(
    folders: Iterable[str], runner: str, packages: Sequence[str] = ()
) -> Iterator[Lead]:
    """The files that a runner obeys in each of the folders. Raises `Unfollowed`."""
    for folder in folders:
        for name in _OBEYED[runner]:
            yield f"control:{name}", os.path.join(folder, name)
        if runner == "uv":
            yield from loaded_in(os.path.join(folder, ".venv"))
            tree = _manifest(folder)
            if any(_at(tree, keys) is not None for keys in _LOADS_MORE):
                raise Unfollowed("`pyproject.toml` makes uv run more files than it names")
        if runner == "npx":
            _refuse_own_package(folder, packages)


def loaded_in(environment: str) -> Iterator[Lead]:
    """What each start of the Python of an environment loads before anything else."""
    yield "control:pyvenv.cfg", os.path.join(environment, "pyvenv.cfg")
    for library in names_in(os.path.join(environment, "lib")):
        packages = os.path.join(environment, "lib", library, "site-packages")
        for name in names_in(packages):
            if name.endswith(".pth") or name.startswith(_CUSTOMIZERS):
                yield f"control:{library}/{name}", os.path.join(packages, name)


def script_module(folders: Iterable[str], name: str) -> str:
    """The module that the nearest manifest runs for a script of a project; empty if for none."""
    for folder in folders:
        if tree := _manifest(folder):
            found = _at(tree, ("project", "scripts", name))
            return found.partition(":")[0].strip() if isinstance(found, str) else ""
    return ""


def _at(tree: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        tree = cast("dict[str, Any]", tree).get(key) if isinstance(tree, dict) else None
    return tree


def _manifest(folder: str) -> dict[str, Any]:
    text = _text(os.path.join(folder, "pyproject.toml"))
    if not text:
        return {}
    import tomllib  # noqa: PLC0415 - few entries run a project

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as unread:
        raise Unfollowed("`pyproject.toml` cannot be read") from unread


def _refuse_own_package(folder: str, packages: Sequence[str]) -> None:
    """The project itself is run if it has the name of the package."""
    text = _text(os.path.join(folder, "package.json"))
    try:
        tree: Any = msgspec.json.decode(text) if text else {}
    except (msgspec.DecodeError, RecursionError) as unread:
        raise Unfollowed("`package.json` cannot be read") from unread
    name = _at(tree, ("name",))
    if name and any(each.startswith(str(name)) for each in packages):
        raise Unfollowed("`package.json` has the name of that package")


def _text(path: str) -> str:
    try:
        with open(path, "rb", opener=open_plain) as file:
            looking().read(min(os.fstat(file.fileno()).st_size, _MOST_BYTES))
            read = file.read(_MOST_BYTES + 1)
    except OSError:
        return ""
    if len(read) > _MOST_BYTES:
        raise Unfollowed("a manifest is too large to be read")
    try:
        return read.decode()
    except UnicodeDecodeError as unread:
        raise Unfollowed("a manifest cannot be read") from unread
