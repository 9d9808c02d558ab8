"""The bearer token: from the environment, or made once and kept in a file of the user's own."""

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from switchboard.core.faults import Fault, FaultCode

VARIABLE = "SWITCHBOARD_TOKEN"
FILE = "http-token"

_RANDOM_BYTES = 32
_LONGEST = 4096


def bearer_token(home: str, environ: Mapping[str, str]) -> str:
    """The token that clients have to show. Raises a fault."""
    given = environ.get(VARIABLE)
    if given:
        return _checked(given, f"${VARIABLE}")
    path = Path(home) / FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _create(path)
        return _checked(_read(path), f"the file `{FILE}`")
    except OSError as error:
        raise _unusable(f"it cannot be read or written: {error.strerror}") from error


def _create(path: Path) -> None:
    """Put a complete file in place; whoever is first wins, and nobody sees half of it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(draft, flags, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(_RANDOM_BYTES) + "\n")
        try:
            os.link(draft, path, follow_symlinks=False)
        except FileExistsError:
            return
    finally:
        draft.unlink()


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle) as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _unusable("it is not a plain file")
        if found.st_uid != os.geteuid():
            raise _unusable("it belongs to another user")
        if found.st_mode & 0o077:
            raise _unusable("other users may read it")
        return file.read(_LONGEST).strip()


def _checked(token: str, where: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "token-unusable",
            f"the token in {where} cannot stand in a header",
            hint="use letters, digits, `-` and `_`",
        )
    return token


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "token-unusable",
        f"the file `{FILE}` in Switchboard's home is not used: {why}",
        hint=f"remove it, and a new token is made; or set {VARIABLE}",
    )
