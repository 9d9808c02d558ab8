"""Who answers in the queue, and who may not: a client cannot approve what it asked for itself."""

import os
from collections.abc import Iterable

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.questions import Question
from switchkit.platform import Unknown, Vitals
from switchkit.processes import ancestry

# What only runs what somebody else wants run, and what has the orphans of everybody.
_SHELLS = frozenset({"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"})
_RUNNERS = frozenset(
    {
        *("bunx", "npm", "npx", "pnpm", "yarn", "hatch", "pipx", "poetry", "rye", "uv", "uvx"),
        *("asdf", "direnv", "doas", "env", "ionice", "just", "make", "mise", "nice", "nohup"),
        *("script", "setsid", "stdbuf", "sudo", "time", "timeout", "unbuffer", "xargs"),
    }
)
_INITS = frozenset({"init", "launchd", "systemd"})


def asking_program(pid: int) -> int:
    """The program that wants a command run, above the shells in between; 0 if it is not known.

    A shell that leads the session of a terminal is where a person types. What stands above it
    drew the terminal, and other terminals too.
    """
    try:
        above = ancestry(pid)[1:]
    except Unknown:
        return 0
    for each in above:
        if each.name not in _SHELLS:
            return 0 if each.name in _INITS else each.pid
        if each.terminal and each.session == each.pid:
            break
    return 0


def clients_above(pid: int) -> tuple[int, ...]:
    """The client of a process, and whatever it started that process through, nearest first.

    A client may start us through shells and through runners of packages. The first program that is
    neither is the client; a shell that leads the session of a terminal is where a person types.
    """
    try:
        above = ancestry(pid)[1:]
    except Unknown:
        return ()
    found: list[int] = []
    for each in above:
        if each.pid == 1 or each.name in _INITS:
            break
        is_shell = each.name in _SHELLS
        if is_shell and each.terminal and each.session == each.pid:
            break
        found.append(each.pid)
        # Runners tell in their names what they run.
        if not is_shell and each.name.split(" ")[0] not in _RUNNERS:
            break
    return tuple(found)


class Approver:
    """This process and everything above it, which is what is noted of whoever decides."""

    def __init__(self, chain: tuple[Vitals, ...]) -> None:
        """Nobody in the chain means that the system does not tell who started this process."""
        self.chain = chain

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
        """The same for several, each with its number and when it began."""
        if not self.chain:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "approver-unknown",
                "this system cannot tell who started this command: it may be the client that asks",
                hint="answer where the client asks",
            )
        asking = {client for client in clients if client[0] > 0}
        if any((each.pid, each.began) in asking for each in self.chain):
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "own-approval",
                "this command was started by the client that asks, which cannot answer itself",
                hint="type it in a terminal of your own",
            )
