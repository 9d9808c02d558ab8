"""Run as a program: enters us into hosts, or takes us back, and is killed at one of its writes.

Arguments: the folder, `enter` or `revert`, the number of the write, `before` or `after` it.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hosts.ground import Ground, named
from switchboard.hosts.applying import apply, revert

HOSTS = ("claude-code", "codex", "goose")
_WRITES = ("replace", "unlink", "mkdir", "rmdir")


def kill_at(number: int, moment: str) -> None:
    """Have this process killed before or after the so-manieth change of the file system."""
    count = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == number and moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **named)
            if count == number and moment == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in _WRITES:
        setattr(os, name, counted(getattr(os, name)))


def main() -> None:
    """Do what the arguments say."""
    folder, verb, number, moment = sys.argv[1:]
    ground = Ground(Path(folder))
    with ground.record() as record:
        changes = [ground.change(named(name)) for name in HOSTS] if verb == "enter" else []
        kill_at(int(number), moment)
        done = apply(changes, record, 0.0) if verb == "enter" else revert(record)
        assert all(not each.reason for each in done)


if __name__ == "__main__":
    main()
