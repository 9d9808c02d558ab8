"""Runs programs of tests in copies of a process that has loaded what all of them need.

To load the SDK takes a second, and some tests start it a hundred times. A program begins as it
would by itself: with its words, its variables, its folder and its three streams, in a process of
its own. Whoever starts it starts a small program that hands all of this over and waits.
"""

import asyncio
import contextlib
import json
import os
import runpy
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

VARIABLE = "TESTS_NURSERY"
_MOST_BYTES = 1 << 20
_PATIENCE_S = 60.0
# Only what the interpreter has beside it, so that it starts in a few milliseconds. With nothing to
# hand over to, or where the other side fails, it fails.
_STARTER = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(os.environ["TESTS_NURSERY"])
    words = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}
    socket.send_fds(there, [json.dumps(words).encode() + b"\\n"], [0, 1, 2])
    os.close(0), os.close(1)
    code = there.recv(1)
sys.exit(code[0] if code else 1)
"""


@contextlib.asynccontextmanager
async def nursery(modules: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[str]:
    """Have these modules loaded; gives the path that `VARIABLE` has to name to programs."""
    with TemporaryDirectory(prefix="sb-") as folder:
        path = str(Path(folder) / "nursery")
        words = (sys.executable, "-m", "support.nursery", path, *modules)
        process = await asyncio.create_subprocess_exec(
            *words, stdin=DEVNULL, stdout=PIPE, env={**env, "PYTHONPATH": str(_TESTS)}
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(_PATIENCE_S):
                assert await process.stdout.readline() == b"ready\n"
            yield path
        finally:
            process.kill()
            await process.communicate()


def started_in_it(script: Path, *words: str) -> list[str]:
    """Give the command that runs a program there."""
    return [sys.executable, "-I", "-c", _STARTER, str(script), *words]


_TESTS = Path(__file__).parents[1]


def _become(words: dict[str, Any], streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.environ.clear()
    os.environ.update(words["env"])
    os.chdir(words["cwd"])
    sys.argv[:] = words["argv"]
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _run(connection: socket.socket) -> None:
    raw, streams, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
    while not raw.endswith(b"\n"):
        raw += connection.recv(_MOST_BYTES)
    code = 1
    try:
        _become(json.loads(raw), streams)
        code = 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
        else:
            code = ended.code or 0
    except BaseException as failure:  # noqa: BLE001 - said as the interpreter would
        sys.excepthook(type(failure), failure, failure.__traceback__)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    connection.send(bytes([code & 0xFF]))
    os._exit(code)


def main(path: str, *modules: str) -> None:
    """Serve until it is killed."""
    for module in modules:
        __import__(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(128)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _run(connection)
            connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
