"""`switchboard logout`: end the login at a remote server; `mcp auth logout` in one word."""

from collections.abc import Iterable

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.commands import act_on_login
from switchboard.cli.verbs.parts.auth.login_options import account_option
from switchboard.cli.verbs.parts.auth.remote_names import remote_names
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="logout",
    summary="End the login at a remote server, for every client.",
    words=(Word(name="NAME", about="a remote server", is_name=True),),
    options=(account_option(),),
    details="The same as `switchboard mcp auth logout NAME`.",
    examples=("switchboard logout notes",),
)


def run(request: CommandRequest) -> Report:
    return act_on_login(request, "logout", request.arguments.word(0))


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return remote_names(request)
