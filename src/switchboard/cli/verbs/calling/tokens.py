"""`switchboard tokens`: what a model reads before its first word, with suites and without."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auditing.session_model import (
    SEARCH,
    Discovery,
    Needs,
    session_tokens_of,
)
from switchboard.cli.verbs.parts.auditing.session_tokens import LAST, session_tokens
from switchboard.cli.verbs.parts.board import IN_PROCESS, ask_board
from switchboard.cli.verbs.parts.tool_tokens import ENCODING, count_of
from switchboard.control.requests import TokensRequest
from switchboard.control.tools import PLAIN, Failure, ListedPreset, ServerTools, TokensAnswer
from switchboard.core.catalog.addresses import address_of
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage

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
        "The second table compares the values of `surface_tokens`, and what a typical session\n"
        "costs with each; `all suites` is what is listed where none is written.\n"
        "`--session` sums up what a model wrote to call tools and read of their answers, from the\n"
        "audit log, which holds estimates; `switchboard status` shows the sessions."
    ),
    examples=("switchboard tokens", f"switchboard tokens --session {LAST}"),
)

DIRECT = "direct"


class ServerTokens(Struct, frozen=True, kw_only=True):
    """One server, in tokens."""

    server: str
    suite: str
    tools: int = 0
    direct: int = 0
    shown: int = 0
    saved_percent: float = 0.0
    failure: Failure | None = None


class SurfaceTokens(Struct, frozen=True, kw_only=True):
    """One way to show all tools. What a session costs is estimated; see `session_model`."""

    surface: str
    tools: int
    listing: int
    session: int
    session_saved_percent: float
    # Whether it is what the settings say.
    is_in_use: bool = False


class TokensReport(Report, frozen=True, kw_only=True, tag="switchboard.tokens/1"):
    """Every server that could be asked, and the sum of those."""

    tokenizer: str
    servers: tuple[ServerTokens, ...]
    tools: int
    direct: int
    shown: int
    saved_percent: float
    # Ways to show all of these tools, and what a typical session costs with each.
    surfaces: tuple[SurfaceTokens, ...] = ()

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
        if self._listed_otherwise:
            # What a suite would cost is of no interest to who is not shown one.
            heads, rows = heads[:3], [row[:3] for row in rows]
        yield from columns(heads, rows, style, right=range(1, len(heads)))
        if self.surfaces:
            yield ""
            heads = ("SURFACE", "LISTED", "LISTING", "SESSION", "SAVED")
            rows = [
                _row(
                    f"{each.surface} (in use)" if each.is_in_use else each.surface,
                    each.tools,
                    each.listing,
                    each.session,
                    each.session_saved_percent,
                )
                for each in self.surfaces
            ]
            yield from columns(heads, rows, style, right=(1, 2, 3, 4))

    @property
    def _listed_otherwise(self) -> SurfaceTokens | None:
        """What clients are shown in place of the suites."""
        found = (each for each in self.surfaces if each.is_in_use and each.surface != PLAIN)
        return next(found, None)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.servers:
            yield "no server may be started: none is configured, or none is trusted"
            yield hint(style, "switchboard list")
        for server in self.servers:
            if server.failure:
                yield f"{style.red('error:')} {server.suite}: {server.failure.message}"
                yield hint(style, "switchboard doctor --deep")
        if self.surfaces:
            if shown := self._listed_otherwise:
                saved = _saved(self.direct, shown.listing)
                told = f"a client lists {shown.listing:,} tokens for all of them"
                yield f"{told}: {saved:.1f} % saved"
            yield f"SESSION is estimated: {_needs(self.servers).assumptions}"
            best = min(self.surfaces, key=lambda each: each.session)
            if best.surface == DIRECT:
                yield "so few tools cost a model least without Switchboard; the gate is not counted"
            if not best.is_in_use and best.surface not in {DIRECT, PLAIN}:
                yield hint(style, f'write `surface_tokens = "{best.surface}"` into config.toml')


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
        surfaces=tuple(_surfaces(answer, counted, direct)),
    )


def _surfaces(
    answer: TokensAnswer, counted: Sequence[ServerTokens], direct: int
) -> Iterator[SurfaceTokens]:
    """Direct connections, and every way to show the same tools through Switchboard."""
    if not counted or not answer.presets:
        return
    tools = sum(server.tools for server in counted)
    needs = _needs(counted)
    whole = session_tokens_of(direct, Discovery())
    yield SurfaceTokens(
        surface=DIRECT, tools=tools, listing=direct, session=whole, session_saved_percent=0.0
    )
    introspection = direct / len(counted)
    for preset in answer.presets:
        listing = sum(map(count_of, preset.tools))
        session = session_tokens_of(listing, _discovery(preset, answer, needs, introspection))
        yield SurfaceTokens(
            surface=preset.name,
            tools=len(preset.tools),
            listing=listing,
            session=session,
            session_saved_percent=_saved(whole, session),
            is_in_use=preset.is_in_use,
        )


def _needs(servers: Sequence[ServerTokens]) -> Needs:
    counted = [server for server in servers if server.failure is None]
    return Needs.of(sum(server.tools for server in counted), len(counted))


def _discovery(
    preset: ListedPreset, answer: TokensAnswer, needs: Needs, introspection: float
) -> Discovery:
    """What has to be found out before the tools of a session can be called."""
    listed = {each.name for each in preset.tools}
    suites = {server.suite for server in answer.servers}
    if suites <= listed:
        return Discovery(trips=needs.servers, tokens=needs.servers * introspection)
    said = "\n".join(each.summary for each in preset.tools)
    told = [
        f"\n{address_of(server.suite, tool.name)}(" in said
        for server in answer.servers
        for tool in server.tools
    ]
    trips = needs.tools * (1 - sum(told) / max(1, len(told)))
    return Discovery(trips=trips, tokens=trips * SEARCH)


def _measured(each: ServerTools) -> ServerTokens:
    if each.failure:
        return ServerTokens(server=each.server, suite=each.suite, failure=each.failure)
    direct, shown = (sum(map(count_of, tools)) for tools in (each.tools, each.shown))
    return ServerTokens(
        server=each.server,
        suite=each.suite,
        tools=len(each.tools),
        direct=direct,
        shown=shown,
        saved_percent=_saved(direct, shown),
    )


def _saved(direct: int, shown: int) -> float:
    return round(100 * (1 - shown / direct), 1) if direct else 0.0


def _row(name: str, tools: int, direct: int, shown: int, saved: float) -> tuple[str, ...]:
    return (name, f"{tools:,}", f"{direct:,}", f"{shown:,}", f"{saved:.1f} %")
