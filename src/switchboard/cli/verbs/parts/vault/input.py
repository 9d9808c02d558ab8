"""Secrets that somebody types or pipes in: never from the command line, never shown."""

import getpass
import os
import sys
from collections.abc import Callable

from switchboard.cli.request import CommandRequest
from switchboard.vault.values import LONGEST_BYTES
from switchkit.cli.style import is_terminal
from switchkit.cli.usage import UsageError


def read_value(what: str) -> str:
    """A secret: asked for without echo at a terminal, else read from stdin whole."""
    if is_terminal(sys.stdin):
        return _prompted(f"Value of {what}: ")
    data = sys.stdin.buffer.read(LONGEST_BYTES + 1)
    if len(data) > LONGEST_BYTES:
        raise UsageError(f"the value is longer than {LONGEST_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise UsageError("the value is not text", "a secret is text in UTF-8") from None
    # What `echo` and editors add is no part of a secret.
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise UsageError(
            "there is no value on stdin",
            f'printf %s "$TOKEN" | switchboard vault put {what}',
        )
    return value


def passphrase_from(request: CommandRequest) -> Callable[[bool], str] | None:
    """A way to ask for the passphrase of the vault; nothing where there is nobody to ask."""
    given = request.arguments.one("passphrase-fd")
    if given is not None:
        if not given.isdigit():
            raise UsageError("`--passphrase-fd` takes the number of an open descriptor")
        phrase = _read_line(int(given))
        return lambda _: phrase
    if not is_terminal(sys.stderr) or not _has_terminal():
        return None
    return _ask


def passphrase_on_stdin(_: bool) -> str:
    """The first line of stdin, for scripts."""
    phrase = _read_line(sys.stdin.fileno())
    if not phrase:
        raise UsageError("there is no passphrase on stdin", "switchboard vault unlock")
    return phrase


def _ask(is_new: bool) -> str:
    phrase = _prompted("New passphrase of the vault: " if is_new else "Passphrase of the vault: ")
    if is_new and _prompted("The same again: ") != phrase:
        raise UsageError("the two passphrases differ")
    return phrase


def _prompted(prompt: str) -> str:
    try:
        value = getpass.getpass(prompt, stream=sys.stderr)
    except EOFError:
        value = ""
    if not value:
        raise UsageError("nothing was typed")
    return value


def _read_line(handle: int) -> str:
    try:
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.readline(LONGEST_BYTES).decode().rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise UsageError("the descriptor of `--passphrase-fd` cannot be read") from None


def _has_terminal() -> bool:
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
