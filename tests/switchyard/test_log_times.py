"""Logs with time: what was written when, narrowed, merged and searched."""

import os
import time
from pathlib import Path

import pytest
from yardlab import Lab, wait_for

from switchyard.core.clock_times import clock_time, told_time
from switchyard.queries.logs import LogWindow, timed_lines
from switchyard.runtime.log.lines import Sift, rotate
from switchyard.runtime.log.times import MOST_BYTES, LogTimes, add_mark, marks_path

# Prints a line of its name for each line that is appended to the file that is named.
ECHO = """
[services.NAME]
command = ["/bin/sh", "-c", "touch NAME.in; exec tail -f -n +1 NAME.in"]
ready = { command = ["test", "-e", "NAME.in"] }
"""


def two(lab: Lab) -> None:
    lab.config(ECHO.replace("NAME", "a") + ECHO.replace("NAME", "b"))
    lab.json("up")


def say(lab: Lab, name: str, line: str) -> float:
    """Have a service print a line, and wait until it is noted; the time before it."""
    before = time.time()
    log = Path(lab.service(name)["log_path"])
    with (lab.root / f"{name}.in").open("a") as out:
        out.write(f"{line}\n")
    wait_for(lambda: log.exists() and line in log.read_text())
    size = log.stat().st_size
    wait_for(lambda: f" {size}\n" in marks_path(log).read_text())
    return before


def test_lines_of_several_services_are_merged_by_time(lab: Lab) -> None:
    two(lab)
    for number, name in enumerate("abab"):
        say(lab, name, f"line {number}")
    assert lab.sy("logs", "--merge").out.splitlines() == [
        "a | line 0",
        "b | line 1",
        "a | line 2",
        "b | line 3",
    ]
    assert lab.sy("logs", "--merge", "-n", "2").out.splitlines() == ["a | line 2", "b | line 3"]


def test_branches_are_merged_by_time_too(lab: Lab) -> None:
    lab.config(ECHO.replace("NAME", "a"))
    lab.repository()
    tree = Path(lab.json("create", "side")["path"])
    lab.json("up", "main")
    lab.json("up", "side")
    for number, (branch, folder) in enumerate([("side", tree), ("main", lab.root)] * 2):
        log = Path(lab.service("a", branch)["log_path"])
        with (folder / "a.in").open("a") as out:
            out.write(f"line {number}\n")
        wait_for(lambda log=log, number=number: f"line {number}" in log.read_text())
        wait_for(lambda log=log: f" {log.stat().st_size}\n" in marks_path(log).read_text())
    assert lab.sy("logs", "--merge").out.splitlines() == [
        "a of side | line 0",
        "a of main | line 1",
        "a of side | line 2",
        "a of main | line 3",
    ]


def test_times_are_those_of_the_lines(lab: Lab) -> None:
    two(lab)
    before = say(lab, "a", "one")
    row = lab.json("logs", "a")["logs"][0]
    assert before <= row["times"][0] <= time.time()
    shown = lab.sy("logs", "a", "-t").out
    assert shown == f"{told_time(row['times'][0])} one\n"


def test_since_and_until_are_exact(lab: Lab) -> None:
    two(lab)
    say(lab, "a", "one")
    second = say(lab, "a", "two")
    third = say(lab, "a", "three")
    log = Path(lab.service("a")["log_path"])

    def between(since: float | None, until: float | None) -> list[str]:
        window = LogWindow(since, until)
        return [line for _, line in timed_lines(log, 10, Sift(), window)]

    assert between(second, None) == ["two", "three"]
    assert between(None, third) == ["one", "two"]
    assert between(second, third) == ["two"]
    assert between(third + 100, None) == []
    assert lab.sy("logs", "a", "--since", "10m").out.splitlines() == ["one", "two", "three"]
    assert lab.sy("logs", "a", "--until", "10m").out == ""
    assert "is not a time" in lab.sy("logs", "a", "--since", "soon", code=2).err


def test_rotated_logs_are_searched_with_their_times(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    for number in range(4):
        log.write_text(f"needle {number}\nhay\n")
        add_mark(log)
        os.utime(log, (0, 0))
        if number < 3:
            rotate(log, 1, 3)
    found = timed_lines(log, 10, Sift(grep="needle"), LogWindow())
    assert [line for _, line in found] == [f"needle {number}" for number in range(4)]
    assert all(when > time.time() - 60 for when, _ in found), "each has the time of its own mark"
    assert [line for _, line in timed_lines(log, 3, Sift(), LogWindow())] == [
        "hay",
        "needle 3",
        "hay",
    ]


def test_marks_are_bounded_and_the_newest_stay_exact(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("x" * 20_000)
    marks_path(log).write_text("".join(f"{n}.000 {n}\n" for n in range(1, 18_000)))
    assert marks_path(log).stat().st_size > MOST_BYTES - 50_000
    while marks_path(log).stat().st_size <= MOST_BYTES - 40:
        add_mark(log)
    for _ in range(5):
        add_mark(log)
    assert marks_path(log).stat().st_size < MOST_BYTES
    assert LogTimes(log).at(17_000) == 17_000.0
    assert LogTimes(log).at(101) in (101.0, 102.0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("14:05", "2026-05-02 14:05:00"),
        ("14:05:30", "2026-05-02 14:05:30"),
        ("23:00", "2026-05-01 23:00:00"),
        ("2026-04-30T10:00", "2026-04-30 10:00:00"),
        ("2026-04-30", "2026-04-30 00:00:00"),
    ],
)
def test_times_are_read_as_people_write_them(text: str, wanted: str) -> None:
    now = time.mktime(time.strptime("2026-05-02 15:00:00", "%Y-%m-%d %H:%M:%S"))
    made = clock_time(text, now)
    assert made is not None
    assert told_time(made) == f"{wanted}.000"


def test_a_clock_that_is_set_back_loses_no_line(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("one\ntwo\nthree\n")
    marks_path(log).write_text("2000.000 4\n1000.000 8\n1001.000 14\n")
    found = timed_lines(log, 10, Sift(), LogWindow())
    assert found == [(2000.0, "one"), (1000.0, "two"), (1001.0, "three")]
