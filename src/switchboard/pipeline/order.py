"""THE list of gates."""

from collections.abc import Mapping

from switchboard.core.calls.receipts import Calls
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.ports import Events, Gate, Next, Provider
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.core.stores import AuditStore
from switchboard.pipeline.compose import compose
from switchboard.pipeline.gates.arguments import ArgumentsGate
from switchboard.pipeline.gates.audit import AuditGates
from switchboard.pipeline.gates.boundary import BoundaryGate
from switchboard.pipeline.gates.deadline import DeadlineGate
from switchboard.pipeline.gates.limits import LimitsGate
from switchboard.pipeline.gates.narrowing import NarrowingGate
from switchboard.pipeline.gates.placement import PlacementGate
from switchboard.pipeline.gates.reading import ReadingGate
from switchboard.pipeline.gates.visibility import VisibilityGate
from switchboard.results.inlining import Inlining
from switchboard.results.store import ResultStore


def build_road(
    providers: Mapping[str, Provider],
    shown: Visibility,
    events: Events,
    *,
    approval: Gate | None = None,
    audit: AuditStore | None = None,
    hide: Redact = NO_SECRETS,
    calls: Calls | None = None,
    receipts: tuple[Gate, Gate] | None = None,
    kept: tuple[Inlining, ResultStore] | None = None,
) -> Next:
    """The road of every call, from whichever client, to whichever provider.

    `receipts` are the gates of those that `calls` is told of: for repeats in one session, and for
    what an earlier session left. `kept` says from what length on
    results are kept, and where; nothing where none are.
    """
    log = AuditGates(audit) if audit is not None else None
    repeats, inheritance = receipts if receipts is not None else (None, None)
    results = _keeping(*kept) if kept is not None else None
    visibility = None if shown.is_open else VisibilityGate(shown)
    gates: tuple[Gate, ...] = (
        # Outermost, so that nothing but a fault gets out and every call is seen to begin and end.
        BoundaryGate(events, hide, calls),
        # Around all that may refuse: the id that a client is told finds a record.
        *((log.ends,) if log is not None else ()),
        # A tool that is not shown does not exist: nobody learns more of it by calling. There is
        # none where all are shown.
        *((visibility,) if visibility is not None else ()),
        # Before anything looks into the arguments they have the shape that the tool asks for.
        ArgumentsGate(),
        # From here on a suite call is the exact subtool with its own arguments.
        NarrowingGate(providers, events),
        # What will run, where. An approval shows this, so it comes before.
        PlacementGate(providers),
        # As the approval judges it, and before a person is asked in vain.
        ReadingGate(),
        # After it is known what will run: the same, sent again in the
        # same session, asks nobody and runs nothing.
        *((repeats,) if repeats is not None else ()),
        # After it is known what will run, before time or slots are spent.
        *((approval,) if approval is not None else ()),
        # After it is agreed to: what another session was told is not for whoever asks.
        *((inheritance,) if inheritance is not None else ()),
        # A slot is taken only by a call that may run.
        LimitsGate(),
        # What is about to run is on disk first; the tool's time has not begun yet.
        *((log.begins,) if log is not None else ()),
        # Right around the tool: what is written down and judged is what the client gets. There is
        # none where nobody bounds results.
        *((results,) if results is not None else ()),
        # Innermost: waiting for a person or a slot does not spend the tool's time.
        DeadlineGate(),
    )
    return compose(gates, lambda call: providers[call.tool.provider].invoke(call))


def _keeping(inlining: Inlining, store: ResultStore) -> Gate:
    from switchboard.pipeline.gates.results import ResultsGate  # noqa: PLC0415 - few bound results

    return ResultsGate(inlining, store)
