"""A file of the configuration: its tree, the places of its keys, and its text."""

import os
import stat
from collections.abc import Callable
from typing import Any, cast

from msgspec import Struct

from switchboard.config.json_text import JsonInvalid, read_json
from switchboard.config.key_positions import KeyPath, Spot, Spots, dotted, spot_at
from switchboard.config.problems import Problem, Severity
from switchboard.core.origins import Origin, Scope
from switchkit.files import open_beneath
from switchkit.platform.paths import true_path

MAX_BYTES = 1 << 20
# Of a file that somebody else may have written: it is read whenever a window opens its folder.
MAX_FOREIGN_BYTES = 1 << 16
_FOREIGN = (Scope.WORKSPACE, Scope.AGENT, Scope.SKILL)
_Parse = Callable[[str, str, list[Problem]], tuple[dict[str, Any], Spots] | None]


class Document(Struct, frozen=True, kw_only=True):
    """One parsed file. Its root is always an object."""

    path: str
    scope: Scope
    tree: dict[str, Any]
    spots: Spots
    # As it was read; empty for one that is just being written.
    text: str = ""

    @property
    def digest(self) -> str:
        """What tells this text from any other."""
        return digest_of(self.text)

    def origin(self, at: KeyPath) -> Origin:
        """The place of a key as an origin."""
        spot = self.spots.find(at)
        return Origin(scope=self.scope, path=self.path, line=spot.line, column=spot.column)

    def problem(
        self, at: KeyPath, message: str, hint: str = "", severity: Severity = "error"
    ) -> Problem:
        """A problem at a key of this file."""
        spot = self.spots.find(at)
        return Problem(
            path=self.path,
            line=spot.line,
            column=spot.column,
            key=dotted(at),
            message=message,
            hint=hint,
            severity=severity,
            near=spot.near,
        )


def read_text(
    path: str, problems: list[Problem], *, within: str = "", most: int = MAX_BYTES
) -> str | None:
    """The text of a file; `None` when it is absent or cannot be used.

    With `within`, the file must lie inside that real directory once every link is followed.
    """
    opened = path
    if within:
        try:
            opened = true_path(path)
        except OSError as refused:
            # Somebody takes away what it was about to follow.
            problems.append(_unreadable(path, refused))
            return None
        if not is_inside(opened, within):
            problems.append(
                Problem(
                    path=path,
                    message="the file leads outside its directory through a symbolic link",
                    hint=f"keep the file itself inside `{os.path.basename(within)}`",
                    kind="unreadable",
                )
            )
            return None
    try:
        if within:
            # The real path has no link left in it; one that appears now is somebody's trick.
            handle = open_beneath(within, opened)
        else:
            handle = os.open(opened, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as refused:
        problems.append(_unreadable(path, refused))
        return None
    try:
        raw = _read(handle, path, problems, most)
    except OSError as refused:
        problems.append(_unreadable(path, refused))
        return None
    finally:
        os.close(handle)
    return None if raw is None else _decoded(raw, path, problems)


def read_json_document(
    path: str,
    scope: Scope,
    problems: list[Problem],
    *,
    within: str = "",
    text: str | None = None,
) -> Document | None:
    """Read a strict JSON file whose root is an object; what is wrong goes to `problems`.

    `text` is read in place of what the file holds now.
    """
    return _read_document(path, scope, problems, within=within, parse=_json_tree, read=text)


def read_toml_document(
    path: str,
    scope: Scope,
    problems: list[Problem],
    *,
    within: str = "",
    text: str | None = None,
) -> Document | None:
    """Read a TOML file; what is wrong goes to `problems`. `text` stands in for what it holds."""
    return _read_document(path, scope, problems, within=within, parse=_toml_tree, read=text)


def _read_document(
    path: str,
    scope: Scope,
    problems: list[Problem],
    *,
    within: str,
    parse: _Parse,
    read: str | None,
) -> Document | None:
    if read is None:
        most = MAX_FOREIGN_BYTES if scope in _FOREIGN else MAX_BYTES
        read = read_text(path, problems, within=within, most=most)
    parsed = None if read is None else parse(path, read, problems)
    if read is None or parsed is None:
        return None
    tree, spots = parsed
    return Document(path=path, scope=scope, tree=tree, spots=spots, text=read)


def _json_tree(
    path: str, text: str, problems: list[Problem]
) -> tuple[dict[str, Any], Spots] | None:
    try:
        parsed = read_json(text)
    except JsonInvalid as refused:
        spot = spot_at(text, refused.offset)
        problems.append(problem_at(path, spot, refused.message, refused.hint))
        return None
    for twice in parsed.repeated:
        message = f"the key `{twice.key}` is written twice in one object"
        spot, key = spot_at(text, twice.offset), dotted(twice.path)
        problems.append(problem_at(path, spot, message, "keep one of them", key))
    if parsed.repeated:
        return None
    value: Any = parsed.value
    if not isinstance(value, dict):
        message = "the file must hold a JSON object"
        problems.append(problem_at(path, parsed.spots.find(()), message, "begin with `{`"))
        return None
    return cast("dict[str, Any]", value), parsed.spots


def _toml_tree(
    path: str, text: str, problems: list[Problem]
) -> tuple[dict[str, Any], Spots] | None:
    # Most workspaces have no TOML, and everyone waits for the first listing.
    from switchboard.config.toml_text import TomlInvalid, read_toml  # noqa: PLC0415

    try:
        return read_toml(text)
    except TomlInvalid as refused:
        problems.append(problem_at(path, Spot(refused.line, refused.column), refused.message))
        return None


def problem_at(path: str, spot: Spot, message: str, hint: str = "", key: str = "") -> Problem:
    """A problem at a place of a file that could not be made a document."""
    return Problem(
        path=path,
        line=spot.line,
        column=spot.column,
        key=key,
        message=message,
        hint=hint,
        kind="syntax",
    )


def digest_of(text: str) -> str:
    """What tells a text from any other."""
    # It takes longer to load than any other module of the standard library that a start needs.
    from hashlib import sha256  # noqa: PLC0415

    return sha256(text.encode()).hexdigest()


def is_inside(path: str, directory: str) -> bool:
    """Whether a real path lies in a real directory."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _read(handle: int, path: str, problems: list[Problem], most: int) -> bytes | None:
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        kind = "a directory" if stat.S_ISDIR(about.st_mode) else "not a regular file"
        message = f"expected a file, but this is {kind}"
        problems.append(Problem(path=path, message=message, kind="unreadable"))
        return None
    chunks: list[bytes] = []
    left = most + 1
    while left and (chunk := os.read(handle, left)):
        chunks.append(chunk)
        left -= len(chunk)
    if not left:
        message = f"the file is larger than {most // 1024} KiB"
        problems.append(Problem(path=path, message=message, kind="unreadable"))
        return None
    return b"".join(chunks)


def _decoded(raw: bytes, path: str, problems: list[Problem]) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError as refused:
        before = raw[: refused.start].decode()
        spot = spot_at(before, len(before))
        message = f"the file is not UTF-8: byte 0x{raw[refused.start]:02X}"
        problems.append(problem_at(path, spot, message, "save it as UTF-8"))
        return None


def _unreadable(path: str, refused: OSError | ValueError) -> Problem:
    reason = refused.strerror if isinstance(refused, OSError) else str(refused)
    return Problem(
        path=path,
        message=f"the file cannot be read: {(reason or 'unknown reason').lower()}",
        hint="give yourself read permission, or remove the file",
        kind="unreadable",
    )
