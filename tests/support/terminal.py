"""A command at a terminal, with somebody who answers what it asks."""

import os
import pty
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PATIENCE_S = 60.0
_ASKS = b"[y/N]"


def answered(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    answer: Callable[[], str | None],
    patience_s: float = PATIENCE_S,
) -> tuple[int, str]:
    """Run a command and answer each `[y/N]` when it is asked; `None` says no more.

    Gives its exit code, and all that the terminal showed.
    """
    ours, theirs = pty.openpty()
    asked = 0
    with subprocess.Popen(
        [*map(str, command)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=env,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
                if shown.count(_ASKS) > asked and (said := answer()) is not None:
                    asked += 1
                    os.write(ours, f"{said}\n".encode())
        except OSError:
            # Linux says so when the last writer has gone.
            pass
        finally:
            os.close(ours)
        code = process.wait(patience_s)
    return code, shown.decode().replace("\r\n", "\n")
