"""`switchboard tokens`: what a model reads before its first word, with suites and without."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import Request
from switchboard.cli.table import TOKENIZER, loaded
from switchboard.cli.verbs.parts.board import Caller, calling, run_to_end
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.suites import Failure, IntrospectedSuite, Subtool, introspect
from switchboard.core.tools import ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage

ENCODING = "o200k_base"

USAGE = Usage(
    verb="tokens",
    summary="Count the tokens that suites save.",
    details=(
        "Every server is started and asked for its tools. `direct` is what a model reads when a\n"
        "client connects to the servers themselves: name, description and input schema of each\n"
        f"tool. `shown` is the same for what it reads here. Counted with {ENCODING}, offline."
    ),
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


class _Shown(Struct, rename="camel"):
    """What of a tool reaches a model."""

    name: str
    description: str
    input_schema: Raw


def run(request: Request) -> Report:
    settings = settings_for(request, introspection_mode="full")
    entries = {shown_name(entry, settings.suites): entry for entry in settings.servers}
    return run_to_end(_run(request, settings, entries))


async def _run(
    request: Request, settings: Settings, entries: Mapping[str, ServerEntry]
) -> TokensReport:
    async with calling(_unfiltered(settings), request.environ) as caller:
        request.talk.progress(f"starting {counted(len(caller.suites), 'server')} …")
        suites = await introspect(caller, tuple(caller.suites))
        servers = tuple(
            _measured(suite, entries[suite.suite], settings, caller) for suite in suites
        )
    counted_ones = [server for server in servers if server.failure is None]
    direct = sum(server.direct for server in counted_ones)
    shown = sum(server.shown for server in counted_ones)
    return TokensReport(
        tokenizer=ENCODING,
        servers=servers,
        tools=sum(server.tools for server in counted_ones),
        direct=direct,
        shown=shown,
        saved_percent=_saved(direct, shown),
    )


def _unfiltered(settings: Settings) -> Settings:
    """Direct connections know no `expose` lists, so the count does without them."""
    suites = {name: replace(suite, allow=None, deny=()) for name, suite in settings.suites.items()}
    return replace(settings, suites=suites)


def _measured(
    suite: IntrospectedSuite, entry: ServerEntry, settings: Settings, caller: Caller
) -> ServerTokens:
    if suite.failure:
        return ServerTokens(server=entry.name, suite=suite.suite, failure=suite.failure)
    direct = sum(_count_tool(tool) for tool in suite.tools)
    if entry.expose == "suite":
        shown = _count(_shown(caller.suites[suite.suite]))
    else:
        lists = settings.suites.get(entry.name, SuiteSettings())
        visible = Visibility(lists.allow, lists.deny)
        shown = sum(
            _count_tool(tool, entry.tool_prefix) for tool in suite.tools if visible.shows(tool.name)
        )
    return ServerTokens(
        server=entry.name,
        suite=suite.suite,
        tools=len(suite.tools),
        direct=direct,
        shown=shown,
        saved_percent=_saved(direct, shown),
    )


def _count_tool(tool: Subtool, prefix: str = "") -> int:
    return _count(_Shown(prefix + tool.name, tool.summary, tool.input_schema))


def _shown(spec: ToolSpec) -> _Shown:
    return _Shown(spec.name, spec.description, spec.input_schema)


def _count(tool: _Shown) -> int:
    return loaded(TOKENIZER).count_tokens(msgspec.json.encode(tool).decode(), ENCODING)


def _saved(direct: int, shown: int) -> float:
    return round(100 * (1 - shown / direct), 1) if direct else 0.0


def _row(name: str, tools: int, direct: int, shown: int, saved: float) -> tuple[str, ...]:
    return (name, f"{tools:,}", f"{direct:,}", f"{shown:,}", f"{saved:.1f} %")
