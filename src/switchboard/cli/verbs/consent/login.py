"""`switchboard login`: log in to a remote server; `mcp auth login` in one word."""

from collections.abc import Iterable

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.commands import act_on_login
from switchboard.cli.verbs.parts.auth.login_options import account_option, login_options
from switchboard.cli.verbs.parts.auth.remote_names import remote_names
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="login",
    summary="Log in to a remote server, once for every client; without a name, show the logins.",
    words=(Word(name="NAME", about="a remote server", optional=True, is_name=True),),
    options=(*login_options(), account_option()),
    details=(
        "The same as `switchboard mcp auth login NAME`, and as `mcp auth status` without a name."
    ),
    examples=("switchboard login notes", "switchboard login notes --no-browser"),
)


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    return act_on_login(request, "login" if name else "status", name)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return remote_names(request)
