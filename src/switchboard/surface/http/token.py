"""The bearer token: from the environment, or made once and kept in a file of the user's own."""

import os
import secrets
from collections.abc import Mapping

from switchboard.core.faults import Fault, FaultCode
from switchkit.files import NotPrivate, make_folder, open_private, replace_file
from switchkit.locks import FolderLock

VARIABLE = "SWITCHBOARD_TOKEN"
FILE = "http-token"
# Of who may look after the daemon over HTTP.
CONTROL_FILE = "control-token"

_RANDOM_BYTES = 32
_LONGEST = 4096


def bearer_token(home: str, environ: Mapping[str, str]) -> str:
    """The token that clients have to show. Raises a fault."""
    given = environ.get(VARIABLE)
    if given:
        return check_token(given, f"${VARIABLE}")
    return kept_token(home)


def kept_token(home: str, name: str = FILE) -> str:
    """The token in a file of the home, which is made if need be. Raises a fault."""
    path = f"{home}/{name}"
    try:
        make_folder(home)
        # Whoever is first makes it, and nobody sees half of it.
        with FolderLock(home):
            if not os.path.lexists(path):
                replace_file(path, secrets.token_urlsafe(_RANDOM_BYTES).encode() + b"\n")
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False)) as file:
            return check_token(file.read(_LONGEST).strip(), f"the file `{name}`")
    except NotPrivate as error:
        raise _unusable(name, f"it {error.why}") from None
    except OSError as error:
        raise _unusable(name, f"it cannot be read or written: {error.strerror}") from error


def check_token(token: str, where: str) -> str:
    """The token, unless it could not be shown. Raises a fault."""
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "token-unusable",
            f"the token in {where} cannot stand in a header",
            hint="use letters, digits, `-` and `_`",
        )
    return token


def _unusable(name: str, why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "token-unusable",
        f"the file `{name}` in Switchboard's home is not used: {why}",
        hint=f"remove it, and a new token is made; or set {VARIABLE}",
    )
