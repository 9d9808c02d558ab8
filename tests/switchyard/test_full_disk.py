"""A full disk stops nothing from being stopped, and leaves no false record behind."""

import json
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from yardlab import Lab, connects, free_port, is_alive, wait_for

QUIET = '[services.quiet]\ncommand = ["sleep", "100"]\n'


@contextmanager
def full_disk(lab: Lab) -> Generator[None]:
    """Let the supervisor write not a byte."""
    supervisor = lab.supervisor()
    assert supervisor is not None
    _, hard = resource.prlimit(supervisor, resource.RLIMIT_FSIZE)
    before = resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        if is_alive(supervisor):
            resource.prlimit(supervisor, resource.RLIMIT_FSIZE, before)


@pytest.fixture
def port(lab: Lab) -> int:
    chosen = free_port()
    lab.config(f'[services.web]\ncommand = [SVC, "serve"]\nport = {chosen}\n{QUIET}')
    lab.json("up")
    return chosen


def test_everything_can_be_stopped(lab: Lab, port: int) -> None:
    lab.json("checkout")
    with full_disk(lab):
        assert len(lab.json("down")["stopped"]) == 2
        assert lab.ours() == []
        assert not connects(port)
        assert lab.json("brief")["checkouts"] == []
        assert lab.json("status")["services"] == []


def test_a_checkout_that_cannot_be_recorded_opens_nothing(lab: Lab, port: int) -> None:
    with full_disk(lab):
        error = lab.json("checkout", code=1)["error"]
        assert error["code"] == "disk-full"
        assert str(lab.home) in error["message"]
        assert not connects(port)
    lab.json("checkout")
    assert connects(port)


def test_a_restart_that_cannot_be_recorded_is_told_as_what_it_is(lab: Lab, port: int) -> None:
    """The record is made before the start, and cannot be brought up to date after it."""
    del port
    lab.json("down")
    lab.json("up")
    supervisor = lab.supervisor()
    assert supervisor is not None
    quiet = lab.service("quiet")
    with full_disk(lab):
        refused = lab.json("restart", "quiet", code=1)["error"]
        assert "cannot write to the disk of" in refused["message"]
        assert not is_alive(quiet["pid"])
    lab.json("up")
    record = lab.record("quiet")
    good = json.loads(record.read_text())
    record.write_text(json.dumps({**good, "pid": 0, "ticks": 0, "phase": "starting"}))
    told = lab.service("quiet")
    assert (told["status"], told["pid"]) == ("running", good["pid"])
    lab.json("down")
    assert lab.ours() == []


def test_a_phase_that_could_not_be_written_is_written_once_there_is_room(lab: Lab) -> None:
    lab.config(QUIET + QUIET.replace("quiet", "other"))
    lab.json("up")
    pid = lab.service("quiet")["pid"]
    with full_disk(lab):
        os.kill(pid, 9)
        wait_for(lambda: not is_alive(pid))
        assert lab.service("quiet")["status"] == "stale"
        assert json.loads(lab.record("quiet").read_text())["phase"] != "crashed"
        told = wait_for(lambda: lab.json("doctor", code=None)["problems"])
        assert f"cannot write its records to the disk of {lab.home}" in told[0]
    wait_for(lambda: json.loads(lab.record("quiet").read_text())["phase"] == "crashed")
    wait_for(lambda: lab.json("doctor", code=None)["problems"] == [])


def test_what_a_start_knows_is_not_what_an_older_record_says(lab: Lab) -> None:
    """As when the disk is full by the time that the service is ready."""
    ready = lab.folder / "ready"
    slow = f'{QUIET.replace("quiet", "slow")}ready = {{ command = "test -e {ready}" }}\n'
    lab.config(QUIET + slow)
    lab.json("up", "quiet")
    lab.json("up", "--no-wait")
    wait_for(lambda: lab.service("slow")["phase"] == "starting")
    with full_disk(lab):
        ready.touch()
        made = wait_for(lambda: (found := lab.json("up", code=None))["ok"] and found["services"])
        assert {one["service"]: one["phase"] for one in made} == {"quiet": "ready", "slow": "ready"}
