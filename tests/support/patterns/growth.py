"""Run as a program: tries every pattern of the sources with texts that are hard for it.

It writes one line for each use of a pattern whose cost grows faster than the text, and one for each
place whose pattern only a run knows. Costs are taken from the processor's clock of this thread, and
compared with each other: four times the text may cost four times as much, not sixteen times.
"""

import itertools
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from support.patterns.hostile import Texts
from support.patterns.uses import Use, uses_in

# Short enough that four times as much ends before we give up, where its cost is the square.
_LENGTH = 4_000
_TIMES = 4
# A text of this length costs a pattern that is as it should be less than a hundredth of this.
_SUSPECT_SECONDS = 0.001
_TOO_MUCH_GROWTH = 8
_GIVE_UP_SECONDS = 2.0
_MOST_FOUND = 20_000


class _TooLongError(Exception):
    pass


def _give_up(*_: object) -> None:
    raise _TooLongError


def cost(pattern: "re.Pattern[Any]", method: str, text: str) -> float:
    """The seconds of the processor that one use of a pattern takes."""
    given: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _GIVE_UP_SECONDS)
    try:
        if method in ("search", "match", "fullmatch"):
            getattr(pattern, method)(given)
        else:
            found = cast("Iterator[object]", pattern.finditer(given))
            for _ in itertools.islice(found, _MOST_FOUND):
                pass
    except _TooLongError:
        return _GIVE_UP_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.thread_time() - started


def growth(use: Use) -> str:
    """The beginning of a text whose cost grows too fast; empty if there is none."""
    pattern = re.compile(use.pattern, use.flags)
    texts = Texts(use.pattern, use.flags)
    for place, text in enumerate(texts.of(_LENGTH)):
        if cost(pattern, use.method, text) < _SUSPECT_SECONDS:
            continue
        least = min(cost(pattern, use.method, text) for _ in range(3))
        if least < _SUSPECT_SECONDS:
            continue
        # Made only now: few texts cost as much, and long ones take most of the time to make.
        longer = next(itertools.islice(texts.of(_LENGTH * _TIMES), place, None), "")
        most = _TOO_MUCH_GROWTH * least
        # A single cost says something of the machine, too.
        if least >= _GIVE_UP_SECONDS or all(
            cost(pattern, use.method, longer) > most for _ in range(3)
        ):
            return text[:40]
    return ""


def main(sources: str, packages: list[str], leave_out: list[str]) -> None:
    signal.signal(signal.SIGVTALRM, _give_up)
    found = uses_in(Path(sources), tuple(packages), frozenset(leave_out))
    for use in sorted(found.uses, key=repr):
        if text := growth(use):
            said = {"place": use.place, "method": use.method, "pattern": repr(use.pattern)}
            _say({**said, "text": text})
    for place in sorted(found.made_at_run_time):
        _say({"place": place, "unknown": True})
    _say({"uses": len(found.uses)})


def _say(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
