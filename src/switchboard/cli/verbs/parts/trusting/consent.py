"""A person agrees to what they were shown, and to nothing else; it is written down."""

import asyncio
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.approvals.approver import Approver
from switchboard.audit.store import SqliteAudit
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.trusting.trustees import Trustee
from switchboard.control.answers import SessionList
from switchboard.control.requests import SessionsRequest
from switchboard.core.audit import AuditApproval, AuditRecord, Decision, new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.ancestors import runs_above
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import UsageError
from switchkit.platform import Unknown
from switchkit.platform.system import command_line
from switchkit.processes import children_of, parent_of

# So much of a fingerprint is enough to name it.
_LEAST = 16
# Whoever loses a parent gets one of these, which is no client.
_INITS = frozenset({"init", "launchd", "systemd", "tini", "docker-init", "dumb-init"})


class TrustOffer(Struct, frozen=True, kw_only=True):
    """What somebody is asked to agree to: entries, and the folder if its identity is given."""

    workspace: str
    entries: tuple[Trustee, ...] = ()
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
    check_no_client(request)
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
            "name what you have seen: switchboard trust … --fingerprint FINGERPRINT, as"
            " `switchboard trust --json` shows it",
        )
    for line in _question(offer, request):
        request.talk.say(line)
    ask_at_terminal("\nTrust this? [y/N] ")
    if not says_yes():
        raise Fault(FaultCode.CANCELLED, "not-confirmed", "nothing was trusted")
    return "terminal"


def check_no_client(request: CommandRequest) -> None:
    """Raise a fault when a client of ours, or an agent, has started this command.

    What a client works on must not be trusted by itself: an agent with a shell could type the
    command as well as a person can. This stops the plain way, as for approvals.
    """
    if is_below_client(request):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "own-trust",
            "this command was started by a client of Switchboard, which cannot trust for a person",
            hint="type it in a terminal of your own",
        )


def is_below_client(request: CommandRequest) -> bool:
    """Whether a client, or an agent, is among those who started this command."""
    if runs_above(os.getpid()):
        return True
    approver = Approver.of_this_process()
    above = {each.pid for each in approver.chain[1:] if each.name not in _INITS}
    answer = daemon_answer(request, SessionsRequest(), SessionList)
    sessions = answer.sessions if answer is not None else ()
    clients = {parent_of(each.pid) for each in sessions if each.pid}
    return bool(above & clients) or any(_serves(pid) for pid in above)


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
            note=f"{each.kind}: {each.runs}"[:2000],
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


def _question(offer: TrustOffer, request: CommandRequest) -> Iterator[str]:
    style = request.talk.style
    for each in offer.entries:
        yield from each.about(style)
        yield ""
    if offer.folder:
        yield f"the folder {offer.workspace} as a whole:"
        yield "  your own servers may start in it, and find the settings that lie there"


def _serves(pid: int) -> bool:
    """Whether a process has a Switchboard of its own that serves it, without a daemon."""
    try:
        return any(_is_serving(child) for child in children_of(pid))
    except Unknown:
        return False


def _is_serving(pid: int) -> bool:
    words = command_line(pid).split()
    if not any("switchboard" in word for word in words[:3]) or "mcp" not in words:
        return False
    # A person logs in with a command that begins in the same way.
    return words[words.index("mcp") + 1 :][:1] != ["auth"]
