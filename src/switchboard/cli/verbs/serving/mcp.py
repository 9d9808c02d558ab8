"""`switchboard mcp`: what a client launches. Whatever the environment says, it speaks stdio.

`switchboard.entry` hands it to the shim before this module is read; what comes here is to be served
in this process, or is `mcp auth`.
"""

from functools import partial

from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.login_options import account_option, login_options
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio
from switchkit.cli.usage import Option, Usage, UsageError, Word

_LOGIN = login_options("login: ")
_ACCOUNT = account_option("auth: ")

USAGE = Usage(
    verb="mcp",
    summary="Serve one client on stdin and stdout. This is the command that a client launches.",
    words=(
        Word(name="auth", about="log in to remote servers", optional=True, choices=("auth",)),
        Word(name="ACTION", about="login, status or logout", optional=True),
        Word(name="NAME", about="a remote server", optional=True),
    ),
    options=(
        Option(name="in-process", about="do without the daemon; so does SWITCHBOARD_IN_PROCESS=1"),
        *_LOGIN,
        _ACCOUNT,
    ),
    details=(
        "It is served by the daemon, which is started if need be and shared with others.\n"
        "With `auth` nothing is served: `auth login NAME` logs in to a remote server, once for"
        " every client; `auth status` shows logins, and `auth logout NAME` ends one."
    ),
    examples=(
        "claude mcp add switchboard -- switchboard mcp",
        "switchboard mcp auth login notes",
        "switchboard mcp auth status",
    ),
)


def run(request: CommandRequest) -> Report:
    if request.arguments.words:
        # Whoever is served logs in nowhere.
        from switchboard.cli.verbs.parts.auth.commands import run_auth  # noqa: PLC0415

        return run_auth(request)
    for option in (*_LOGIN, _ACCOUNT):
        if request.arguments.has(option.name):
            verb = "mcp auth" if option is _ACCOUNT else "mcp auth login"
            raise UsageError(f"`--{option.name}` belongs to `{verb}`", "switchboard mcp --help")
    settings, load = followed_settings(request, transport="stdio")
    serving = serve_stdio(
        settings,
        request.environ,
        load=partial(load, settings.workspace),
        load_tree=load,
        is_pinned=request.is_pinned,
    )
    return Silent(code=run_loop(serving))
