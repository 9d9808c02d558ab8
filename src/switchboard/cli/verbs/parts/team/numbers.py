"""Whole numbers of a command line."""

from switchboard.cli.request import CommandRequest
from switchkit.cli.usage import UsageError


def whole_number(
    request: CommandRequest, name: str, *, otherwise: int, least: int = 1, most: int
) -> int:
    """The number of an option, or another where it is not given. Raises `UsageError`."""
    given = request.arguments.one(name)
    if given is None:
        return otherwise
    if not given.isascii() or not given.isdigit() or not least <= int(given) <= most:
        raise UsageError(f"`--{name}` is a number from {least} to {most:,}")
    return int(given)
