"""A program that is waited for: what it says, and what is left of it when it takes too long."""

import os
from pathlib import Path

from support.processes import wait_until_gone
from switchboard.procs.trial import trial


def test_what_a_program_says_and_how_it_ends_is_told() -> None:
    done = trial(("/bin/sh", "-c", "echo out; echo err >&2; exit 3"), timeout_s=20)
    assert (done.status, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    os.mkfifo(noted)
    # It is over only when its grandchild has said who it is, and never by itself.
    script = f'sh -c "echo \\$\\$ > {tmp_path}/pid; exec sleep 1000" & sleep 1000'
    reader = os.open(noted, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert trial(("/bin/sh", "-c", script), timeout_s=1, env=dict(os.environ)).status is None
        pid = int(os.read(reader, 100))
    finally:
        os.close(reader)
    wait_until_gone([pid])
