"""The database of a team as a command names it."""

from switchboard.cli.request import CommandRequest
from switchkit.cli.usage import UsageError

DATABASE = "SWITCHBOARD_DB"


def team_database(request: CommandRequest, hint: str) -> str:
    """The address, from `--db` or the environment; empty for none.

    `hint` is what to type where a password was given.
    """
    given = request.arguments.one("db")
    if given is None:
        return request.environ.get(DATABASE, "")
    return named_database(given, hint)


def named_database(given: str, hint: str) -> str:
    """An address from a command line. Raises `UsageError` where it has a password."""
    user, at, _ = given.partition("://")[2].rpartition("@")
    if at and ":" in user:
        raise UsageError(
            "a command line is read by every user of the machine: no password belongs there",
            hint,
        )
    return given
