"""A person agrees to what they were shown, and to nothing else; it is written down."""

import asyncio
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.approvals.approver import Approver
from switchboard.audit.store import SqliteAudit
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import places_for
from switchboard.cli.verbs.parts.trusting.trust_items import DEV, TrustItem
from switchboard.control.served_clients import clients_of, served_now
from switchboard.core.audit import AuditApproval, AuditRecord, Decision, new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.ancestors import runs_above
from switchkit.cli.columns import counted
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import UsageError

# So much of a fingerprint is enough to name it.
_LEAST = 16


class TrustOffer(Struct, frozen=True, kw_only=True):
    """What somebody is asked to agree to: entries, and the folder if its identity is given."""

    workspace: str
    entries: tuple[TrustItem, ...] = ()
    folder: str = ""

    @property
    def fingerprint(self) -> str:
        """Of everything that is offered, as one."""
        prints = sorted(each.fingerprint for each in self.entries)
        if len(prints) == 1 and not self.folder:
            return prints[0]
        whole = "\0".join((*prints, f"folder {self.workspace} {self.folder}" * bool(self.folder)))
        return hashlib.sha256(whole.encode()).hexdigest()


def agreed(request: CommandRequest, offer: TrustOffer) -> str:
    """How a person agreed to exactly this: at a terminal, or by its fingerprint. Raises a fault."""
    check_consent(request)
    given = request.arguments.one("fingerprint")
    if given is not None:
        if len(given) < _LEAST or not offer.fingerprint.startswith(given.lower()):
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "not-what-was-shown",
                "this is not the fingerprint of what is there now",
                hint="look again: switchboard trust",
            )
        return "fingerprint"
    if not is_terminal(sys.stdin):
        raise UsageError(
            "without a terminal nobody can be shown what is trusted",
            "look at it with `switchboard trust`, then name what you have seen: switchboard trust"
            f" {_as_typed(request)} --fingerprint {offer.fingerprint[:_LEAST]}",
        )
    # Who did not want to see all of it cannot agree to it.
    if not request.talk.page(_question(offer, request)):
        raise Fault(FaultCode.CANCELLED, "not-confirmed", "nothing was trusted")
    ask_at_terminal(f"\nTrust {_counted(offer)}? [y/N] ")
    if not says_yes():
        raise Fault(FaultCode.CANCELLED, "not-confirmed", "nothing was trusted")
    return "terminal"


def _as_typed(request: CommandRequest) -> str:
    """The words that say what is to be trusted."""
    switches = [f"--{name}" for name in ("all", "folder") if request.arguments.has(name)]
    return shlex.join((*request.arguments.words, *switches))


def check_consent(request: CommandRequest) -> None:
    """Raise a fault when nobody can agree here: a client, or an agent, has started this command.

    Every consent of a command passes here, and so the same rule as for approvals: whoever is served
    by Switchboard, in whichever way, does not agree for a person.
    """
    if runs_above(os.getpid()):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "own-consent",
            "this command was started by an agent of Switchboard, which cannot agree for a person",
            hint="type it in a terminal of your own",
        )
    approver = Approver.of_this_process()
    served = served_now(places_for(request).home)
    approver.check_no_client(clients_of(served))
    if is_terminal(sys.stdin):
        return
    if not approver.is_known or any(each.is_open for each in served):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "clients-unknown",
            "it cannot be known here whether a client of Switchboard has started this command"
            + (": one is served over HTTP" if approver.is_known else ""),
            hint="type it in a terminal",
        )


def check_reader(request: CommandRequest) -> None:
    """Raise a fault where others than a person would read what clients called, and were told."""
    try:
        check_consent(request)
    except Fault as refused:
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "calls-of-others",
            "a client or an agent of Switchboard may have started this command, and the calls of"
            " others are not for it",
            hint="type it in a terminal of your own",
        ) from refused


def why_no_consent(request: CommandRequest) -> str:
    """What speaks against it that a person agrees here, in words; nothing if nothing does."""
    try:
        check_consent(request)
    except Fault as refused:
        return refused.message
    return ""


def write_down(home: str, offer: TrustOffer, decision: Decision, channel: str) -> None:
    """Write into the audit log what is decided. What cannot be written is not done."""
    chain = str(Approver.of_this_process())
    asyncio.run(_append(home, [*_records(offer, decision, channel, chain)]))


def _records(
    offer: TrustOffer, decision: Decision, channel: str, chain: str
) -> Iterator[AuditRecord]:
    event = "trust.given" if decision == "approved" else "trust.taken"
    for each in offer.entries:
        yield new_record(
            event,
            server=each.name,
            workspace=offer.workspace,
            env_names=tuple(sorted(each.env)),
            note=f"{each.kind}{' with --dev' * (DEV in each.details)}: {each.runs}"[:2000],
            approval=AuditApproval(
                decision=decision,
                mode="trust",
                channel=channel,
                digest=each.fingerprint,
                chain=chain,
            ),
        )
    if offer.folder:
        yield new_record(
            event,
            workspace=offer.workspace,
            note="the folder as a whole",
            approval=AuditApproval(
                decision=decision, mode="folder", channel=channel, digest=offer.folder, chain=chain
            ),
        )


async def _append(home: str, records: Sequence[AuditRecord]) -> None:
    log = SqliteAudit(home)
    try:
        for record in records:
            await log.append(record)
    finally:
        await log.aclose()


def _counted(offer: TrustOffer) -> str:
    """How much a yes would be for."""
    parts = [counted(len(offer.entries), "entry", "entries")] if offer.entries else []
    parts += ["the folder"] if offer.folder else []
    return " and ".join(parts)


def _question(offer: TrustOffer, request: CommandRequest) -> Iterator[str]:
    style = request.talk.style
    for each in offer.entries:
        yield from each.about(style)
        yield ""
    if offer.folder:
        yield f"the folder {offer.workspace} as a whole:"
        yield "  your own servers may start in it, and find the settings that lie there"
