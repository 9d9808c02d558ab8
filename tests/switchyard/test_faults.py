"""Faults on top of everything else: no descriptors, two versions at once, a clock that steps."""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from yardlab import Lab, is_alive, wait_for

import switchyard
from support.measuring import unmeasured

TWO = """
[services.web]
command = [SVC, "serve"]
port = 0

[services.other]
command = ["sleep", "100"]
"""


def limit(pid: int, most: int) -> None:
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, hard))


def test_a_supervisor_without_descriptors_says_so_and_recovers(lab: Lab) -> None:
    lab.config(TWO)
    lab.json("up", "-b", "default", "web")
    supervisor = lab.supervisor()
    assert supervisor is not None
    before = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)[0]
    # One for the request itself, and none for what it wants.
    limit(supervisor, len(list(Path(f"/proc/{supervisor}/fd").iterdir())) + 1)
    told = lab.json("up", "-b", "default", "other", code=None)
    running = {one["service"] for one in lab.json("status")["services"] if one["pid"]}
    assert running == ({"web", "other"} if told["ok"] else {"web"})
    assert len(lab.ours()) == len(running)
    if is_alive(supervisor):
        limit(supervisor, before)
    lab.json("up")
    assert len(lab.ours()) == 2
    lab.json("down")
    assert lab.ours() == []


def other_version(lab: Lab) -> Path:
    """Give a copy of the program that says it is another version."""
    source = Path(switchyard.__file__).parent
    copy = lab.folder / "other"
    for name in ("switchyard", "switchkit"):
        shutil.copytree(
            source.parent / name, copy / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    path = copy / "switchyard" / "__init__.py"
    path.write_text(re.sub(r'__version__ = ".*"', '__version__ = "99.0.0"', path.read_text()))
    return copy


def test_two_versions_work_on_one_project_at_once(lab: Lab) -> None:
    lab.env = unmeasured(lab.env)
    lab.config(TWO)
    copy = other_version(lab)

    def other(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "switchyard", *words],
            cwd=lab.root,
            env={**lab.env, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    assert "99.0.0" in other("version")
    other("up")
    supervisor = lab.supervisor()
    assert any("99.0.0" in one for one in lab.json("doctor", code=1)["problems"])
    assert {one["phase"] for one in lab.json("status")["services"]} == {"ready"}
    before = lab.service("web")["pid"]
    lab.json("restart", "web")
    assert lab.service("web")["pid"] != before
    assert lab.supervisor() == supervisor, "the one that runs goes on"
    assert "web" in other("status")
    lab.json("down")
    assert lab.ours() == []


def test_a_clock_that_was_set_back_hides_no_change_of_the_configuration(lab: Lab) -> None:
    path = lab.config(TWO)
    lab.json("up")
    assert not any(one.get("changed") for one in lab.json("status")["services"])
    path.write_text(path.read_text().replace('["sleep", "100"]', '["sleep", "101"]'))
    # As an editor leaves it on a clock that an hour was taken from.
    os.utime(path, (time.time() - 3600, time.time() - 3600))
    changed = {one["service"] for one in lab.json("status")["services"] if one.get("changed")}
    assert changed == {"other"}


def test_a_clock_that_was_set_forward_ends_no_wait(lab: Lab) -> None:
    """Times in records are far in the future, as a clock leaves them that was set back since."""
    lab.config(TWO)
    lab.json("up")
    for name in ("web", "other"):
        path = lab.record(name)
        text = path.read_text()
        path.write_text(
            re.sub(r'("(?:started|ready|probed)_at":)[\d.]+', r"\g<1>9999999999.5", text)
        )
    lab.kill_supervisor()
    assert {one["phase"] for one in lab.json("up")["services"]} == {"ready"}
    assert len(lab.ours()) == 2
    began = time.monotonic()
    lab.json("down")
    assert time.monotonic() - began < 20
    wait_for(lambda: lab.ours() == [])
