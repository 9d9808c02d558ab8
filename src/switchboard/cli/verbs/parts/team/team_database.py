"""The database of a team as a command names it."""

from switchboard.cli.request import CommandRequest
from switchkit.cli.usage import UsageError

DATABASE = "SWITCHBOARD_DB"


def team_database(request: CommandRequest, command: str) -> str:
    """The address, from `--db` or the environment; empty for none. `command` is shown as a hint."""
    given = request.arguments.one("db")
    if given is None:
        return request.environ.get(DATABASE, "")
    user, at, _ = given.partition("://")[2].rpartition("@")
    if at and ":" in user:
        raise UsageError(
            "a command line is read by every user of the machine: no password belongs there",
            f"{DATABASE}=postgresql://… switchboard {command}",
        )
    return given
