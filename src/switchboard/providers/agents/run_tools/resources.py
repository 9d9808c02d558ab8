"""Runs as resources: `run://ID`, told of while it changes."""

from collections.abc import Callable

import msgspec
from msgspec import Raw

from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.contents import Completing, ContentRequest, Filling
from switchboard.core.catalog.offers import Kind, Offer
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.providers.agents.calls.answers import facts
from switchboard.providers.agents.run_tools.own_runs import is_own
from switchboard.runs.event_words import told_lines
from switchboard.runs.ports import Runs
from switchboard.runs.run import Run

SCHEME = "run://"
_PROVIDER = "agents"
_TEMPLATE = f"{SCHEME}{{id}}"
_TEMPLATE_OFFER = Offer(
    name=_TEMPLATE,
    provider=_PROVIDER,
    entry=Raw(
        msgspec.json.encode(
            {
                "uriTemplate": _TEMPLATE,
                "name": "run",
                "description": "What a run of an agent has done, and what came of it.",
                "mimeType": "application/json",
            }
        )
    ),
)


class RunResources:
    """The runs of one workspace."""

    def __init__(self, runs: Callable[[], Runs], workspace: str) -> None:
        self._runs = runs
        self._workspace = workspace

    async def offers(self, kind: Kind, session: Session, wanted: str = "") -> tuple[Offer, ...]:
        """The runs that go on; by name, any."""
        if kind == "templates":
            return (_TEMPLATE_OFFER,)
        if kind != "resources":
            return ()
        shown = [
            run
            for run in await self._runs().unfinished(workspace=self._workspace)
            if is_own(run, self._workspace, session)
        ]
        if wanted.startswith(SCHEME) and (run := await self._find(wanted, session)):
            shown.append(run)
        return tuple({run.id: _offer(run) for run in shown}.values())

    async def fetch(self, call: Call, offer: Offer, request: ContentRequest) -> Outcome:
        """Read a run."""
        if isinstance(request, Completing):
            return Outcome(raw=Raw(b'{"completion":{"values":[],"total":0,"hasMore":false}}'))
        uri = offer.own or offer.name
        run = await self._find(uri, call.session)
        if run is None or isinstance(request, Filling):
            raise _unknown(uri)
        lines = list(told_lines(await self._runs().transcript(run.id)))
        told = {**facts(run), "task": run.spec.task, "output": run.output, "events": lines}
        text = msgspec.json.encode(told).decode()
        contents = [{"uri": uri, "mimeType": "application/json", "text": text}]
        return Outcome(raw=Raw(msgspec.json.encode({"contents": contents})))

    async def follow(
        self, offer: Offer, session: Session, tell: Callable[[str], None]
    ) -> Callable[[], None]:
        """Tell of each change of a run."""
        uri = offer.own or offer.name
        run = await self._find(uri, session)
        if run is None:
            raise _unknown(uri)
        return self._runs().follow(run.id, lambda _: tell(uri))

    async def _find(self, uri: str, session: Session) -> Run | None:
        try:
            run = await self._runs().get(uri.removeprefix(SCHEME))
        except Fault as fault:
            if fault.code is FaultCode.NOT_FOUND:
                return None
            raise
        return run if is_own(run, self._workspace, session) else None


def _offer(run: Run) -> Offer:
    entry = {
        "uri": f"{SCHEME}{run.id}",
        "name": run.id,
        "title": f"{run.spec.agent}: {run.spec.task[:60]}",
        "mimeType": "application/json",
    }
    return Offer(name=entry["uri"], provider=_PROVIDER, entry=Raw(msgspec.json.encode(entry)))


def _unknown(uri: str) -> Fault:
    return Fault(FaultCode.NOT_FOUND, "unknown-resource", f"there is no resource `{uri}`")
