"""Many processes on one log, and processes that are killed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from audit.ground import Ground

PATIENCE = 60
SCRIBBLER = Path(__file__).with_name("scribbler.py")
FOR_EVER = 1_000_000
WITHOUT_ROTATION = 64 << 20
SMALL = 64 << 10
# Whoever is not listened to stops here. So no round fills more segments than are kept.
UNREAD_BYTES = 8 << 10


def start(
    ground: Ground, name: str, *, count: int, callers: int = 4, segment: int = WITHOUT_ROTATION
) -> "subprocess.Popen[str]":
    words = [str(ground.paths.home), name, str(count), str(callers), str(segment)]
    return subprocess.Popen(
        [sys.executable, str(SCRIBBLER), *words],
        stdout=subprocess.PIPE,
        text=True,
        pipesize=UNREAD_BYTES,
    )


def last_words(writer: "subprocess.Popen[str]") -> list[str]:
    """What a killed process still said.

    `communicate` would leave out what was read ahead, and begin in the middle of a line.
    """
    writer.wait(PATIENCE)
    assert writer.stdout is not None
    with writer.stdout as rest:
        return rest.read().split()


def test_eight_processes_write_one_chain(ground: Ground) -> None:
    writers = [start(ground, f"p{number}", count=12) for number in range(8)]
    told = [writer.communicate(timeout=PATIENCE)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 8
    acknowledged = [call for calls in told for call in calls]
    assert len(acknowledged) == 8 * 12 * 4
    assert sorted(ground.calls()) == sorted(acknowledged)
    found = ground.verified()
    assert (found.is_whole, found.ahead) == (True, 0)


def test_processes_that_rotate_at_once_go_on_in_the_same_segment(ground: Ground) -> None:
    writers = [start(ground, f"p{number}", count=40, segment=SMALL) for number in range(3)]
    told = [writer.communicate(timeout=PATIENCE)[0].split() for writer in writers]
    found = ground.verified()
    assert found.findings == ()
    assert found.segments > 1
    assert sorted(ground.calls()) == sorted(call for calls in told for call in calls)


def test_a_log_is_whole_while_others_write_and_rotate(ground: Ground) -> None:
    writers = [start(ground, name, count=FOR_EVER, segment=SMALL) for name in "ab"]
    try:
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()
        segments: set[int] = set()
        looks = 0
        while len(segments) < 5 or looks < 10:
            assert ground.verified().findings == ()
            segments |= set(ground.paths.segments())
            looks += 1
            for writer in writers:
                assert writer.stdout is not None
                for _ in range(40):
                    assert writer.stdout.readline()
    finally:
        for writer in writers:
            writer.kill()
            last_words(writer)
    assert ground.verified().findings == ()


def kill_in_rounds(ground: Ground, rounds: int) -> None:
    """Each time at another moment, two processes at once, and into a log that rotates."""
    chance = random.Random(5)
    for turn in range(rounds):
        acknowledged: list[str] = []
        both = [
            start(ground, f"r{turn}{letter}", count=FOR_EVER, callers=6, segment=4 * SMALL)
            for letter in "ab"
        ]
        for writer in both:
            assert writer.stdout is not None
            lines = range(chance.randrange(1, 40))
            acknowledged += [writer.stdout.readline().strip() for _ in lines]
        for writer in both:
            writer.kill()
        for writer in both:
            acknowledged += last_words(writer)
        found = ground.verified()
        assert found.findings == (), (turn, found)
        # Segments that are given up for their size may take older rounds along, never this one.
        kept = set(ground.calls())
        assert [call for call in acknowledged if call not in kept] == []


def test_nothing_that_was_acknowledged_is_lost_when_processes_are_killed(ground: Ground) -> None:
    kill_in_rounds(ground, 10)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_nothing_is_lost_in_a_hundred_rounds(ground: Ground) -> None:
    kill_in_rounds(ground, 100)


def test_a_process_that_was_stopped_while_it_held_the_log_does_not_lose_it_for_others(
    ground: Ground,
) -> None:
    """What is killed lets go of the lock; the next one waits for nothing."""
    writer = start(ground, "first", count=FOR_EVER)
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    rest = last_words(writer)
    after = start(ground, "second", count=3)
    told, _ = after.communicate(timeout=PATIENCE)
    assert {*rest, *told.split()} <= set(ground.calls())
    assert ground.verified().is_whole
