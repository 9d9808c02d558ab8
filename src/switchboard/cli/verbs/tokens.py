"""`switchboard tokens`: what a model reads before its first word, with suites and without."""

from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.table import TOKENIZER, loaded
from switchboard.cli.verbs.parts.auditing.session_tokens import LAST, session_tokens
from switchboard.cli.verbs.parts.board import IN_PROCESS, ask_board
from switchboard.control.requests import TokensRequest
from switchboard.control.tools import Failure, ServerTools, Subtool, TokensAnswer
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage

ENCODING = "o200k_base"

USAGE = Usage(
    verb="tokens",
    summary="Count the tokens that suites save.",
    options=(
        Option(name="session", value="ID", about=f"what the calls of a session cost; `{LAST}` too"),
        IN_PROCESS,
    ),
    details=(
        "Every server is started and asked for its tools. `direct` is what a model reads when a\n"
        "client connects to the servers themselves: name, description and input schema of each\n"
        f"tool. `shown` is the same for what it reads here. Counted with {ENCODING}, offline.\n"
        "`--session` sums up what a model wrote to call tools and read of their answers, from the\n"
        "audit log, which holds estimates; `switchboard status` shows the sessions."
    ),
    examples=("switchboard tokens", f"switchboard tokens --session {LAST}"),
)


class ServerTokens(Struct, frozen=True, kw_only=True):
    """One server, in tokens."""

    server: str
    suite: str
    tools: int = 0
    direct: int = 0
    shown: int = 0
    saved_percent: float = 0.0
    failure: Failure | None = None


class TokensReport(Report, frozen=True, kw_only=True, tag="switchboard.tokens/1"):
    """Every server that could be asked, and the sum of those."""

    tokenizer: str
    servers: tuple[ServerTokens, ...]
    tools: int
    direct: int
    shown: int
    saved_percent: float

    def exit_code(self) -> int:
        return FAILED if any(server.failure for server in self.servers) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if not self.servers:
            return
        rows = [
            _row(each.suite, each.tools, each.direct, each.shown, each.saved_percent)
            for each in self.servers
            if each.failure is None
        ]
        rows.append(_row("total", self.tools, self.direct, self.shown, self.saved_percent))
        heads = ("SUITE", "TOOLS", "DIRECT", "SHOWN", "SAVED")
        yield from columns(heads, rows, style, right=(1, 2, 3, 4))

    def notes(self, style: Style) -> Iterator[str]:
        if not self.servers:
            yield "no server may be started: none is configured, or none is trusted"
            yield hint(style, "switchboard list")
        for server in self.servers:
            if server.failure:
                yield f"{style.red('error:')} {server.suite}: {server.failure.message}"
                yield hint(style, "switchboard doctor --deep")


class _Read(Struct, rename="camel"):
    """What of a tool reaches a model."""

    name: str
    description: str
    input_schema: Raw


def run(request: CommandRequest) -> Report:
    session = request.arguments.one("session")
    if session is not None:
        return session_tokens(request, session)
    answer = ask_board(request, TokensRequest(), TokensAnswer)
    servers = tuple(map(_measured, answer.servers))
    counted = [server for server in servers if server.failure is None]
    direct = sum(server.direct for server in counted)
    shown = sum(server.shown for server in counted)
    return TokensReport(
        tokenizer=ENCODING,
        servers=servers,
        tools=sum(server.tools for server in counted),
        direct=direct,
        shown=shown,
        saved_percent=_saved(direct, shown),
    )


def _measured(each: ServerTools) -> ServerTokens:
    if each.failure:
        return ServerTokens(server=each.server, suite=each.suite, failure=each.failure)
    direct, shown = (sum(map(_count, tools)) for tools in (each.tools, each.shown))
    return ServerTokens(
        server=each.server,
        suite=each.suite,
        tools=len(each.tools),
        direct=direct,
        shown=shown,
        saved_percent=_saved(direct, shown),
    )


def _count(tool: Subtool) -> int:
    read = _Read(tool.name, tool.summary, tool.input_schema)
    return loaded(TOKENIZER).count_tokens(msgspec.json.encode(read).decode(), ENCODING)


def _saved(direct: int, shown: int) -> float:
    return round(100 * (1 - shown / direct), 1) if direct else 0.0


def _row(name: str, tools: int, direct: int, shown: int, saved: float) -> tuple[str, ...]:
    return (name, f"{tools:,}", f"{direct:,}", f"{shown:,}", f"{saved:.1f} %")
