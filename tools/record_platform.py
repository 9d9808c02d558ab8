"""Records the bytes that this system's kernel answers with, where `switchkit.platform` reads them.

Only processes that this starts are asked about, and the first of the machine, as far as it tells
everybody. Names of the person, of the machine and of folders are overwritten, letter by letter,
and nothing is written where one is left. The tests read it again (`tests/support/recordings.py`).
"""

import base64
import contextlib
import getpass
import json
import os
import platform
import pwd
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, cast

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "src"))

from switchkit.platform.darwin import calls, layouts  # noqa: E402

# One that listens, holds a pipe as its input and has a child, and a child that has ended.
PROGRAM = """
import os, signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
listening = socket.create_server(("127.0.0.1", 0))
ended = os.fork()
if not ended:
    os._exit(0)
signal.sigwait({signal.SIGCHLD})
living = os.fork()
if not living:
    sys.stdin.read()
    os._exit(0)
file = open("/dev/null")
print(listening.getsockname()[1], ended, living, flush=True)
sys.stdin.read()
"""
WORDS = ("-I", "-S", "-c", PROGRAM, "a word", "")
VARIABLES = {"RECORDED": "yes", "EMPTY": ""}
SHELL = ("/bin/sh", "-c", "read line; exit")
_SHORTEST = 3
_UNIQUE = re.compile(rb"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_SOL_LOCAL, _PEERCRED, _XUCRED_BYTES, _UCRED_BYTES = 0, 1, 76, 12

Recording = dict[str, Any]


class Stage:
    """The processes that are asked about, and what is known of them without asking."""

    def __init__(
        self, program: "subprocess.Popen[bytes]", shell: "subprocess.Popen[bytes]"
    ) -> None:
        assert program.stdout is not None
        self.program = program.pid
        self.shell = shell.pid
        self.port, self.ended, self.living = map(int, program.stdout.readline().split())

    @property
    def facts(self) -> Recording:
        return {
            "program": self.program,
            "parent": os.getpid(),
            "ended": self.ended,
            "living": self.living,
            "shell": self.shell,
            "port": self.port,
            "words": [sys.executable, *WORDS],
            "variables": VARIABLES,
            "folder": "/",
            "user": os.getuid(),
        }


def _started(*words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        words,
        env=VARIABLES,
        cwd="/",
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ours may be a file, whose place is nobody's business.
        stderr=subprocess.DEVNULL,
    )


@contextlib.contextmanager
def staged() -> Generator[Stage]:
    """Start them, and end them."""
    with _started(sys.executable, *WORDS) as program, _started(*SHELL) as shell:
        try:
            yield Stage(program, shell)
        finally:
            for each in (program, shell):
                each.kill()


# -- macOS ---------------------------------------------------------------------------------------


def _asked(call: Callable[..., Any], *arguments: Any) -> Recording:
    """One question with its answer, or with the number of its refusal."""
    shown = [each.decode() if isinstance(each, bytes) else each for each in arguments]
    asked: Recording = {"call": call.__name__, "arguments": shown}
    try:
        answer = call(*arguments)
    except OSError as refused:
        return {**asked, "refused": refused.errno}
    return {**asked, "answer" if isinstance(answer, bytes) else "value": answer}


def darwin_answers(stage: Stage) -> Iterator[Recording]:
    """What `calls` is asked by the side of macOS, about each of the processes."""
    everyone = (stage.program, stage.ended, stage.living, stage.shell)
    questions = (
        (layouts.SHORT_INFO, layouts.WITH_ZOMBIES, layouts.SHORT_INFO_BYTES),
        (layouts.UNIQUE_INFO, layouts.WITH_ZOMBIES, layouts.UNIQUE_INFO_BYTES),
        (layouts.BSD_INFO, layouts.WITH_ZOMBIES, layouts.BSD_INFO_BYTES),
        (layouts.TASK_INFO, 0, layouts.TASK_INFO_BYTES),
        (layouts.FOLDER_INFO, 0, layouts.FOLDER_INFO_BYTES),
    )
    for pid in everyone:
        for question in questions:
            yield _asked(calls.process_info, pid, *question)
        yield _asked(calls.session_of, pid)
        yield from _files(pid)
        yield _asked(calls.process_list, layouts.CHILDREN_OF, pid)
    # Of the first one only what everybody is told; the rest is refused, with a number.
    for question in questions[:3]:
        yield _asked(calls.process_info, 1, *question)
    most = calls.kernel_value(layouts.MOST_ARGUMENTS, 4)
    yield _asked(calls.kernel_value, layouts.MOST_ARGUMENTS, 4)
    for pid in everyone:
        wanted = (*layouts.ARGUMENTS_OF, pid)
        yield _asked(calls.kernel_value, wanted, layouts.number(most, 0))
    yield _asked(calls.kernel_value, layouts.BOOT_NAME, 64)
    # Who else is there is nobody's business.
    found = [each for each in calls.process_list(layouts.ALL_PIDS) if each in (0, *everyone)]
    asked = {"call": "process_list", "arguments": [layouts.ALL_PIDS]}
    yield {**asked, "value": found}


def _files(pid: int) -> Iterator[Recording]:
    listed = _asked(calls.process_files, pid)
    yield listed
    kinds = {
        layouts.OF_VNODE: (layouts.VNODE_PATH_INFO, layouts.VNODE_PATH_INFO_BYTES),
        layouts.OF_SOCKET: (layouts.SOCKET_INFO, layouts.SOCKET_INFO_BYTES),
        layouts.OF_PIPE: (layouts.PIPE_INFO, layouts.PIPE_INFO_BYTES),
    }
    raw: bytes = listed.get("answer", b"")
    for at in range(0, len(raw) - layouts.FILE_BYTES + 1, layouts.FILE_BYTES):
        file = layouts.number(raw, at + layouts.FILE_NUMBER_AT)
        kind = layouts.number(raw, at + layouts.FILE_KIND_AT)
        for question, size in kinds.values():
            # Also the questions that do not fit: their refusals are read, too.
            if file == 0 or kinds.get(kind) == (question, size):
                yield _asked(calls.file_info, pid, file, question, size)


def _exit_seconds() -> float:
    """How long it takes until the end of a process is told."""
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=-1) as short:
        told = calls.exit_events(short.pid)
        began = time.monotonic()
        short.kill()
        select.select([told], [], [], 10)
        os.close(told)
        return time.monotonic() - began


# -- Linux ---------------------------------------------------------------------------------------

_FILES = ("stat", "status", "statm", "cmdline", "environ")
_ROW_OF_PORT, _LISTENS = 1, b"0A"


def linux_answers(stage: Stage) -> Iterator[Recording]:
    """What the side of Linux reads of `/proc` about each of the processes."""
    for pid in (stage.program, stage.ended, stage.living, stage.shell):
        for name in (*_FILES, f"task/{pid}/children"):
            yield _read(f"/proc/{pid}/{name}")
        yield _linked(f"/proc/{pid}/cwd")
        with contextlib.suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                yield _linked(f"/proc/{pid}/fd/{number}")
                yield _read(f"/proc/{pid}/fdinfo/{number}")
    yield _read("/proc/sys/kernel/random/boot_id")
    port = b":%04X" % stage.port
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        whole = _read(path)
        head, *rows = whole.get("answer", b"").splitlines(keepends=True) or [b""]
        # Connections of others are nobody's business.
        own = [row for row in rows if row.split()[_ROW_OF_PORT].endswith(port)]
        yield {**whole, "answer": head + b"".join(own)}


def _read(path: str) -> Recording:
    try:
        with open(path, "rb") as file:
            return {"path": path, "answer": file.read()}
    except OSError as refused:
        return {"path": path, "refused": refused.errno}


def _linked(path: str) -> Recording:
    try:
        return {"path": path, "link": os.fsencode(os.readlink(path))}
    except OSError as refused:
        return {"path": path, "refused": refused.errno}


def _peer() -> bytes:
    """What the kernel says of who is at the other side of a socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        if sys.platform == "darwin":
            return ours.getsockopt(_SOL_LOCAL, _PEERCRED, _XUCRED_BYTES)
        return ours.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED_BYTES)


# -- what is written -----------------------------------------------------------------------------


def private_words() -> list[bytes]:
    """What tells whose machine this is, the longest first."""
    found = {getpass.getuser(), str(Path.home()), str(CHECKOUT), socket.gethostname()}
    found |= {platform.node().partition(".")[0], str(Path(sys.executable).parent), sys.prefix}
    found |= {str(Path(sys.executable).resolve().parent), os.path.realpath(Path.home())}
    # Variables may say another name than the system has, and a program may start another one.
    known = pwd.getpwuid(os.getuid())
    found |= {known.pw_name, known.pw_dir, os.path.realpath(sys.base_prefix)}
    return sorted(
        (os.fsencode(each) for each in found if len(each.strip("/")) >= _SHORTEST),
        key=len,
        reverse=True,
    )


def overwritten(raw: bytes) -> bytes:
    """The same length, without what tells whose machine this is, or which boot."""
    for word in private_words():
        raw = raw.replace(word, b"/" * word.startswith(b"/") + b"x" * len(word.lstrip(b"/")))
    return _UNIQUE.sub(lambda found: re.sub(rb"[0-9A-Fa-f]", b"0", found[0]), raw)


def written(recording: Any) -> Any:
    """A recording as JSON can have it: bytes in base64, marked as such."""
    if isinstance(recording, bytes):
        return {"base64": base64.b64encode(overwritten(recording)).decode()}
    if isinstance(recording, str):
        return overwritten(os.fsencode(recording)).decode("utf-8", "replace")
    if isinstance(recording, dict):
        fields = cast("dict[str, Any]", recording)
        return {name: written(each) for name, each in fields.items()}
    if isinstance(recording, list | tuple):
        return [*map(written, cast("list[Any]", recording))]
    return recording


def recorded(system: str, *, source: str) -> Recording:
    """Everything, from a kernel or from a double of one (`source`)."""
    with staged() as stage:
        ask = darwin_answers if system == "darwin" else linux_answers
        made: Recording = {
            "system": system,
            "release": platform.release().partition(".")[0],
            "machine": platform.machine(),
            "source": source,
            "facts": stage.facts,
            "answers": [*ask(stage)],
        }
        if source == "kernel":
            made["peer"] = _peer()
        if system == "darwin":
            made["told_of_an_end_after_s"] = round(_exit_seconds(), 4)
        return written(made)


def main(folder: str) -> int:
    """Write the recording of this system into a folder."""
    made = recorded(sys.platform, source="kernel")
    text = json.dumps(made, indent=1) + "\n"
    left = [word for word in private_words() if word in plain(made)]
    if left:
        print("it still holds words of this machine, so nothing was written:", left)
        return 1
    place = Path(folder) / f"{sys.platform}-{made['release']}-{made['machine']}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")
    print(f"{len(made['answers'])} answers are in {place}; look through them, then commit the file")
    return 0


def plain(made: Any) -> bytes:
    """All texts and bytes of a recording, to look for words in."""
    if isinstance(made, dict):
        fields = cast("dict[str, Any]", made)
        if set(fields) == {"base64"}:
            return base64.b64decode(fields["base64"])
        return b"\n".join(map(plain, fields.values()))
    if isinstance(made, list):
        return b"\n".join(map(plain, cast("list[Any]", made)))
    return str(made).encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
