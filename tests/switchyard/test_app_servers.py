"""Real servers of applications: masters that lose their workers, titles that hide variables."""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from yardlab import Json, Lab, at_work, connects, is_alive, suspend, wait_for

from support.measuring import unmeasured

BIN = Path(sys.executable).parent
APP = """
def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]
"""
TASKS = 'from celery import Celery\napp = Celery("tasks", broker="memory://")\n'
RACK = 'run lambda { |env| [200, {"Content-Type" => "text/plain"}, ["hello"]] }\n'


class Program(NamedTuple):
    """One server: how it stays in the foreground, and how it becomes a daemon."""

    command: list[str]
    daemon: list[str]
    has_port: bool = True
    hides_variables: bool = True
    workers_follow: bool = False
    """The kernel ends its workers with their master."""
    ready: str = ""


GUNICORN = [str(BIN / "gunicorn"), "--bind", "{host}:{port}", "--workers", "2", "app:app"]
CELERY = [
    str(BIN / "celery"),
    "--app",
    "tasks",
    "worker",
    "--concurrency",
    "2",
    "--loglevel",
    "INFO",
]
PUMA = ["puma", "--bind", "tcp://{host}:{port}", "--workers", "2", "config.ru"]
PROGRAMS = {
    "gunicorn": Program(GUNICORN, [*GUNICORN, "--daemon"]),
    "celery": Program(
        CELERY,
        [*CELERY, "--detach", "--pidfile", "celery.pid", "--logfile", "celery.log"],
        has_port=False,
        workers_follow=True,
        ready='ready = { log = "ready" }\n',
    ),
    # Since version 5 it leaves that to others.
    "puma": Program(
        PUMA, ["setsid", "--fork", *PUMA], hides_variables=False, ready='ready = { http = "/" }\n'
    ),
}


def session_and_parent(pid: int) -> tuple[int, int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[3]), int(fields[1])


def workers(lab: Lab, master: int) -> set[int]:
    found = {pid for pid in at_work(lab.root) - {master} if session_and_parent(pid)[1] == master}
    return found if len(found) == 2 else set()


def project(lab: Lab, name: str, command: list[str], *, ready: str = "") -> None:
    # A program that is measured has set variables, and then cannot hide those that it was given.
    lab.env = unmeasured(lab.env)
    (lab.root / "app.py").write_text(APP)
    (lab.root / "tasks.py").write_text(TASKS)
    (lab.root / "config.ru").write_text(RACK)
    port = "port = 0\n" if PROGRAMS[name].has_port else ""
    lab.config(
        f"[services.web]\ncommand = {command!r}\n{port}{ready}"
        'stop = { grace = "300ms" }\nenv = { PYTHONDONTWRITEBYTECODE = "1" }\n'
    )
    lab.cleanup(lambda: [end(pid) for pid in at_work(lab.root)])


def end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def daemon(lab: Lab) -> set[int]:
    return set(lab.service("web")["pids"])


def agreed(lab: Lab) -> Json:
    """Hold the answers of where, status and brief against each other, and give one."""
    where = lab.service("web")
    for verb in ("status", "brief"):
        (told,) = lab.json(verb)["services"]
        assert (told["status"], told["phase"]) == (where["status"], where["phase"])
    return where


@pytest.mark.parametrize(
    ("name", "supervised"),
    [("gunicorn", True), ("gunicorn", False), ("celery", True), ("puma", False)],
)
def test_workers_that_outlive_their_master_are_told_and_stopped(
    lab: Lab, name: str, *, supervised: bool
) -> None:
    program = PROGRAMS[name]
    project(lab, name, program.command, ready=program.ready)
    web = lab.json("up")["services"][0]
    master = web["pid"]
    both = wait_for(lambda: workers(lab, master))
    if program.hides_variables:
        wait_for(
            lambda: (
                not any(
                    b"SWITCHYARD_RUN_ID" in Path(f"/proc/{pid}/environ").read_bytes()
                    for pid in both
                )
            )
        )
    assert agreed(lab)["phase"] == "ready"
    suspend(both)
    if not supervised:
        lab.kill_supervisor()
    os.kill(master, signal.SIGKILL)
    wait_for(lambda: not is_alive(master))
    if program.workers_follow:
        wait_for(lambda: at_work(lab.root) == set())
        wait_for(lambda: lab.service("web")["phase"] in ("crashed", "exited"))
        assert "pids" not in agreed(lab)
    else:
        wait_for(lambda: lab.service("web")["phase"] == "orphaned")
        told = agreed(lab)
        assert (told["reason"], set(told["pids"])) == ("leader-gone", both)
    done = lab.json("down")["stopped"][0]
    assert done["port_free"] is not False
    assert at_work(lab.root) == set()
    assert lab.json("status")["services"] == []
    assert not program.has_port or not connects(web["port"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_daemon_is_told_never_leaked_and_stopped(lab: Lab, name: str) -> None:
    program = PROGRAMS[name]
    project(lab, name, program.daemon)
    for _ in range(2):
        made = lab.json("up", code=None if not program.has_port else 1)
        if program.has_port:
            assert "it became a daemon" in made["error"]["message"]
        # One set at a time: a master and its two workers.
        # Those that only start it are gone by then.
        wait_for(lambda: len(found := at_work(lab.root)) == 3 and daemon(lab) == found)
        assert agreed(lab)["phase"] == "orphaned"
    if lab.supervisor():
        with contextlib.suppress(AssertionError, ProcessLookupError):  # it may end by itself
            lab.kill_supervisor()
    wait_for(lambda: lab.supervisor() is None)
    told = agreed(lab)
    assert (told["phase"], set(told["pids"])) == ("orphaned", at_work(lab.root))
    master = next(pid for pid in told["pids"] if workers(lab, pid))
    if not program.workers_follow:
        # Nothing of the daemon is left that somebody has noted, but its workers.
        left = workers(lab, master)
        suspend(left)
        os.kill(master, signal.SIGKILL)
        wait_for(lambda: not is_alive(master))
        assert set(agreed(lab)["pids"]) == left == at_work(lab.root)
    lab.json("down")
    assert at_work(lab.root) == set()
    assert lab.json("status")["services"] == []
