"""Who answers in the queue, and who may not: a client cannot approve what it asked for itself."""

import os
from collections.abc import Iterable

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import Question
from switchkit.platform import Unknown, Vitals
from switchkit.processes import ancestry, is_whole


class Approver:
    """This process and everything above it, which is what is noted of whoever decides."""

    def __init__(self, chain: tuple[Vitals, ...]) -> None:
        """Nobody in the chain means that the system does not tell who started this process."""
        self.chain = chain

    @property
    def is_known(self) -> bool:
        """Whether the system shows everybody above this process."""
        return is_whole(self.chain)

    @classmethod
    def of_this_process(cls) -> "Approver":
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> "Approver":
        """A process and everything above it; 0 is one that nobody knows."""
        try:
            return cls(ancestry(pid) if pid else ())
        except Unknown:
            return cls(())

    def __str__(self) -> str:
        return " < ".join(f"{written_out(each.name)} {each.pid}" for each in self.chain)

    def check(self, question: Question) -> None:
        """Raise a fault when the client that asks is among those who started this process.

        An agent with a shell could type the command as well as a person can. This stops the plain
        way; a program that takes care to cut its descent gets past, as does anything else that the
        same user may do.
        """
        own = (question.client_pid, question.client_began)
        self.check_clients([own, *question.principals])

    def check_clients(self, clients: Iterable[tuple[int, int]]) -> None:
        """The same for several, each with its number and when it began, or 0 if nobody knows."""
        if self._is_below(client for client in clients if client[0] > 0):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "own-approval",
                "this command was started by the client that asks, which cannot answer itself",
                hint="type it in a terminal of your own",
            )
        if not self.is_known:
            raise self._unknown("it may be the client that asks", "answer where the client asks")

    def _is_below(self, clients: Iterable[tuple[int, int]]) -> bool:
        above = {(each.pid, each.began) for each in self.chain}
        above |= {(each.pid, 0) for each in self.chain}
        return not above.isdisjoint(clients)

    def _unknown(self, why: str, hint: str) -> Fault:
        last = self.chain[-1].parent if self.chain else 0
        hidden = f": it hides process {last}, which is above it" if last else ""
        return Fault(
            FaultCode.PERMISSION_DENIED,
            "approver-unknown",
            f"this system cannot tell who started this command{hidden}; {why}",
            hint=hint,
        )

    def check_no_client(self, clients: Iterable[tuple[int, int]]) -> None:
        """Raise a fault when a client, whatever it asks for, is among those who started this."""
        asking = [*clients]
        if self._is_below(asking):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "own-consent",
                "this command was started by a client of Switchboard, "
                "which cannot agree for a person",
                hint="type it in a terminal of your own",
            )
        if asking and not self.is_known:
            raise self._unknown("it may be a client of Switchboard", "end your clients first")
