"""`switchboard usage`: which tools are used, how that goes, and what is never used."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime

from msgspec import Struct

from switchboard.audit.usage.count import UsageCount, Use, UsedTool
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import DATABASE
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.core.catalog.addresses import address_of
from switchboard.daemon.desk.used_tools import OutlinedServer, known_servers
from switchkit.cli.columns import counted, visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError

_DAYS, _MOST_DAYS = 30, 90
_NAMED = 8
_SECOND = 1_000
# What was not called in less than this may be needed all the same.
_TELLING_DAYS, _TELLING_CALLS = 7, 50

USAGE = Usage(
    verb="usage",
    summary="Show which tools are used, how that goes, and what is never used.",
    options=(Option(name="days", value="N", about=f"of so many days; {_DAYS} without it"),),
    details=(
        "Counted from the audit log, which has calls only while the gate is on: calls, errors,\n"
        "how long half and nearly all of them took at most, and the tokens that a model read of\n"
        "the results. Tokens are estimated. Nothing is started: tools that were never used are\n"
        "known of servers that have run before. What leaving them out would save is what a model\n"
        'reads of their definitions with `surface_tokens = "direct"`, and of the suite else.'
    ),
    examples=("switchboard usage", "switchboard usage --days 7 --json"),
)


class UsedEntry(Struct, frozen=True, kw_only=True):
    """One tool that was called. Tokens are those of its results; estimated."""

    server: str
    suite: str
    tool: str
    calls: int
    errors: int
    p50_ms: int
    p95_ms: int
    tokens: int


class ServerCost(Struct, frozen=True, kw_only=True):
    """What a listing costs of one server, as it is shown and with all its tools; estimated."""

    server: str
    tools: int
    suite_tokens: int
    direct_tokens: int


class UnusedTools(Struct, frozen=True, kw_only=True):
    """Tools that were never called, of a server that was; estimated."""

    server: str
    tools: tuple[str, ...]
    direct_tokens: int


class UsedDay(Struct, frozen=True, kw_only=True):
    """The calls of one day, by the clock of the world."""

    day: str
    calls: int
    errors: int
    tokens: int


class UsageReport(Report, frozen=True, kw_only=True, tag="switchboard.usage/1"):
    """The tools that were called, the most used first, and what was not."""

    days: int
    tools: tuple[UsedEntry, ...] = ()
    calls: int = 0
    errors: int = 0
    tokens: int = 0
    unused_servers: tuple[ServerCost, ...] = ()
    servers: tuple[ServerCost, ...] = ()
    by_day: tuple[UsedDay, ...] = ()
    # Since the first of the calls.
    known_days: int = 0
    unused_tools: tuple[UnusedTools, ...] = ()
    is_guarded: bool = True
    unreadable: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        if self.tools:
            heads = ("TOOL", "CALLS", "ERRORS", "P50", "P95", "TOKENS")
            rows = [
                (
                    visible(_address(each)),
                    f"{each.calls:,}",
                    f"{each.errors:,}",
                    _time(each.p50_ms),
                    _time(each.p95_ms),
                    f"{each.tokens:,}",
                )
                for each in self.tools
            ]
            rows.append(
                ("total", f"{self.calls:,}", f"{self.errors:,}", "", "", f"{self.tokens:,}")
            )
            yield from columns(heads, rows, style, right=(1, 2, 3, 4, 5), elastic=(0,))
        # Before the first call nothing is used, and that says nothing.
        if self.tools and (self.unused_servers or self.unused_tools):
            yield ""
            heads = ("NEVER USED", "TOOLS", "SUITE", "DIRECT", "NAMES")
            rows = [
                (
                    visible(each.server),
                    f"{each.tools:,}" if each.tools else "?",
                    f"{each.suite_tokens:,}" if each.suite_tokens else "",
                    f"{each.direct_tokens:,}" if each.tools else "?",
                    "all of them",
                )
                for each in self.unused_servers
            ]
            rows += [
                (
                    visible(each.server),
                    f"{len(each.tools):,}",
                    "",
                    f"{each.direct_tokens:,}",
                    visible(", ".join(each.tools[:_NAMED]))
                    + (", …" if len(each.tools) > _NAMED else ""),
                )
                for each in self.unused_tools
            ]
            yield from columns(heads, rows, style, right=(1, 2, 3), elastic=(0, 4))

    def notes(self, style: Style) -> Iterator[str]:
        if not self.tools:
            yield f"no call in the last {self.days} days"
            if not self.is_guarded:
                yield "calls are written down only while the gate is on: `guard = true`"
            yield from self.unreadable
            return
        yield f"the last {self.days} days; tokens are estimated"
        if self.known_days < _TELLING_DAYS or self.calls < _TELLING_CALLS:
            known = f"{counted(self.calls, 'call')} in {counted(self.known_days, 'day')}"
            yield f"only {known} so far: what was not used yet may still be needed"
        elif self.unused_servers:
            saved = sum(each.suite_tokens for each in self.unused_servers)
            if saved:
                yield f"without the suites of servers that are never used: {saved:,} tokens less"
            yield hint(style, "switchboard disable NAME")
        yield from self.unreadable


def run(request: CommandRequest) -> Report:
    days = _days(request.arguments.one("days"))
    settings = usable_for(request)
    count = _count(request, settings.home)
    used = count.last_days(days)
    by_day = count.by_day(days)
    known = known_servers(settings, request.environ)
    listed = tuple(_listed_servers(known))
    called = {tool.server for tool in used}
    entries = tuple(_entry(*each) for each in sorted(used.items(), key=_most_used))
    return UsageReport(
        days=days,
        tools=entries,
        calls=sum(each.calls for each in entries),
        errors=sum(each.errors for each in entries),
        tokens=sum(each.tokens for each in entries),
        unused_servers=tuple(each for each in listed if each.server not in called),
        servers=listed,
        by_day=tuple(_day(day, uses.values()) for day, uses in by_day.items()),
        known_days=_days_since(min(by_day, default="")),
        unused_tools=tuple(_unused_tools(known, used)),
        is_guarded=settings.is_guarded,
        unreadable=tuple(count.unreadable),
    )


def _count(request: CommandRequest, home: str) -> UsageCount:
    """Of the home, or of the team."""
    if database := request.environ.get(DATABASE):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.desk import team_usage  # noqa: PLC0415

        return team_usage(database, home)
    return UsageCount(home)


def _most_used(each: tuple[UsedTool, Use]) -> tuple[int, str, str]:
    tool, use = each
    return (-use.calls, tool.suite or tool.server, tool.tool)


def _entry(tool: UsedTool, use: Use) -> UsedEntry:
    return UsedEntry(
        server=tool.server,
        suite=tool.suite,
        tool=tool.tool,
        calls=use.calls,
        errors=use.errors,
        p50_ms=use.took_ms(0.5),
        p95_ms=use.took_ms(0.95),
        tokens=use.tokens,
    )


def _listed_servers(known: Mapping[str, OutlinedServer]) -> Iterator[ServerCost]:
    for name, server in known.items():
        yield ServerCost(
            server=name,
            tools=len(server.tools),
            suite_tokens=server.suite_tokens,
            direct_tokens=sum(each.tokens for each in server.tools),
        )


def _days_since(first: str) -> int:
    """How many days there are from one to this, both counted."""
    return (datetime.now(UTC).date() - date.fromisoformat(first)).days + 1 if first else 0


def _day(day: str, uses: Collection[Use]) -> UsedDay:
    return UsedDay(
        day=day,
        calls=sum(each.calls for each in uses),
        errors=sum(each.errors for each in uses),
        tokens=sum(each.tokens for each in uses),
    )


def _unused_tools(
    known: Mapping[str, OutlinedServer], used: Mapping[UsedTool, Use]
) -> Iterator[UnusedTools]:
    called: dict[str, set[str]] = {}
    for tool in used:
        called.setdefault(tool.server, set()).add(tool.tool)
    for name, server in known.items():
        left = [each for each in server.tools if each.name not in called.get(name, ())]
        if name in called and left:
            yield UnusedTools(
                server=name,
                tools=tuple(each.name for each in left),
                direct_tokens=sum(each.tokens for each in left),
            )


def _days(text: str | None) -> int:
    if text is None:
        return _DAYS
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_DAYS:
        raise UsageError(f"`--days` must be from 1 to {_MOST_DAYS}", "switchboard usage --days 7")
    return int(text)


def _address(each: UsedEntry) -> str:
    if each.suite:
        return address_of(each.suite, each.tool)
    return f"{each.server}.{each.tool}" if each.server else each.tool


def _time(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < _SECOND else f"{milliseconds / _SECOND:.1f} s"
