"""Every server, started once to see whether and how fast it does."""

from functools import partial

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import tell_news
from switchboard.cli.verbs.parts.doctor.slow import about_starts
from switchboard.cli.verbs.parts.own_board import own_caller
from switchboard.control.requests import IntrospectRequest
from switchboard.core.bus import EventBus
from switchboard.core.events import ChildStarted, Event
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.columns import counted

# Otherwise npm tries for more than a minute before it says why it cannot fetch anything.
_IMPATIENT = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "1000",
}


class StartedServer(Struct, frozen=True, kw_only=True):
    """A server that was started."""

    suite: str
    tools: int
    # How long its start took; nothing for what is not started, but reached.
    seconds: float | None = None


async def start_servers(
    request: CommandRequest, settings: Settings, findings: list[Finding]
) -> tuple[StartedServer, ...]:
    """Start all of them. What fails, and what is slow, is added to the findings."""
    request.talk.progress(f"starting {counted(len(settings.servers), 'server')} …")
    # Somebody waits for this: a package runner that does not get through says so at once.
    environ = {**_IMPATIENT, **request.environ}
    seconds: dict[str, float] = {}

    def note(event: Event) -> None:
        if isinstance(event, ChildStarted):
            seconds[event.child] = event.duration_s

    async with own_caller(settings, environ, events=EventBus(note)) as caller:
        asked = caller.introspect(IntrospectRequest(), hear=partial(tell_news, request.talk))
        suites = (await asked).suites
    told = {each.subject for each in findings if each.severity == "error"}
    told = {shown_name(each, settings.suites) for each in settings.servers if each.name in told}
    for suite in suites:
        # What keeps a server from starting was told without a start, as that it is left out.
        if suite.failure and suite.failure.reason != "server-left-out" and suite.suite not in told:
            text = "".join(f"; {key}: {value}" for key, value in suite.failure.details.items())
            findings.append(
                Finding(
                    severity="error",
                    subject=suite.suite,
                    message=suite.failure.message + text,
                    hint=suite.failure.hint,
                )
            )
    findings += about_starts(settings, seconds)
    names = {shown_name(each, settings.suites): each.name for each in settings.servers}
    return tuple(
        StartedServer(
            suite=each.suite,
            tools=len(each.tools),
            seconds=seconds.get(names.get(each.suite, "")),
        )
        for each in suites
        if not each.failure
    )
