"""Who is taken for the client of a command, and who may approve nothing."""

import os
import pty
import subprocess
import sys

import pytest

from support.requirements import attack
from switchboard.approvals.approver import Approver
from switchboard.core.faults import Fault

TELLS = (
    "import os; from switchboard.daemon.sessions.client_programs import asking_program;"
    " print(asking_program(os.getpid()))"
)
COMMAND = (sys.executable, "-c", TELLS)
# Not the last thing that it does, or the shell would become the command.
SHELL = ("sh", "-c", '"$@"; exit $?', "sh")
# Leads a session of its own, and makes the terminal that it is given the session's.
AT_TERMINAL = ("sh", "-c", 'exec <"$0"; "$@"; exit $?')


def asking(*command: str, new_session: bool = False) -> int:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, start_new_session=new_session
    )
    return int(done.stdout)


def test_the_client_of_a_command_is_the_program_above_its_shells() -> None:
    us = os.getpid()
    assert asking(*COMMAND) == us
    assert asking(*SHELL, *COMMAND) == us
    assert asking(*SHELL, *SHELL, *COMMAND, new_session=True) == us
    assert asking("timeout", "60", *COMMAND) not in {0, us}


def test_a_person_who_types_in_a_terminal_is_no_client() -> None:
    ours, theirs = pty.openpty()
    try:
        terminal = os.ttyname(theirs)
        assert asking(*AT_TERMINAL, terminal, *COMMAND, new_session=True) == 0
        assert asking(*AT_TERMINAL, terminal, *SHELL, *COMMAND, new_session=True) == 0
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("pid", [0, 2**22 + 1])
def test_a_process_that_nobody_knows_approves_nothing(pid: int) -> None:
    """The other end of a connection may have told no number, or have ended."""
    approver = Approver.of(pid)
    assert (approver.chain, str(approver)) == ((), "")
    with pytest.raises(Fault) as refused:
        approver.check_clients([])
    assert refused.value.reason == "approver-unknown"


ABOVE = (
    "import os; from switchboard.daemon.sessions.client_programs import clients_above as above;"
    " print(*above(os.getpid()))"
)


def above(*command: str) -> list[int]:
    told = (*command, sys.executable, "-c", ABOVE)
    done = subprocess.run(told, capture_output=True, text=True, check=True, start_new_session=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize(
    "wrapper", [(), SHELL, (*SHELL, *SHELL), ("timeout", "60"), (*SHELL, "timeout", "60")]
)
@attack("A1")
def test_a_client_is_known_through_whatever_it_starts_us_with(wrapper: tuple[str, ...]) -> None:
    """A model's shell has the client above it, and not the script that started us for it."""
    client = (sys.executable, "-c", "import subprocess as s, sys; s.run(sys.argv[1:], check=True)")
    found = above(*client, *wrapper)
    # Each shell and runner in between, and the client itself, but nobody above it.
    assert len(found) == 1 + wrapper.count("sh") // 2 + wrapper.count("timeout")
    assert os.getpid() not in found
    assert above(*wrapper)[-1] == os.getpid()


def test_the_shell_that_a_person_types_in_is_no_client() -> None:
    ours, theirs = pty.openpty()
    try:
        terminal = os.ttyname(theirs)
        leading = above(*AT_TERMINAL, terminal)
        through = above(*AT_TERMINAL, terminal, "timeout", "60")
    finally:
        os.close(ours)
        os.close(theirs)
    assert (len(leading), len(through)) == (0, 1)
