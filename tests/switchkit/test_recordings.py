"""What each side of the platform makes of bytes that a kernel answered with, recorded once.

No Mac has been recorded; that the recording and the reading of it fit together is shown over the
double, which is no Mac. Those of Linux are read beside this (`test_linux_recordings.py`).
"""

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from support import darwin_kernel, recordings
from support.recordings import FOLDER, Recording, ToldAgain, judge
from support.workspace import CHECKOUT
from switchkit.platform import Unknown
from switchkit.platform.darwin import calls
from switchkit.platform.darwin import facts as darwin_facts
from switchkit.platform.darwin import ports as darwin_ports
from switchkit.platform.darwin import processes as darwin_processes
from switchkit.platform.darwin import streams as darwin_streams

CALLS = ("process_info", "process_files", "file_info", "process_list", "session_of", "kernel_value")


@cache
def recorder() -> ModuleType:
    place = CHECKOUT / "tools" / "record_platform.py"
    spec = importlib.util.spec_from_file_location("record_platform", place)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_what_is_recorded_is_of_kernels_and_of_nobody() -> None:
    """Whoever commits a file of the double, or with a name of a person in it, is told."""
    files = sorted(FOLDER.glob("*.json"))
    assert files
    for file in files:
        made = json.loads(file.read_text("utf-8"))
        assert made["source"] == "kernel", file
        assert file.name.startswith(f"{made['system']}-")
        plain = recorder().plain(made)
        places = (b"/home/", b"/Users/", b"/root/", b"/tmp/", b"/var/", b"/Volumes/", b"/mnt/")
        for word in (*places, str(CHECKOUT).encode()):
            assert word not in plain, (file, word)


def told_again(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    again = ToldAgain(recording)
    for name in CALLS:
        monkeypatch.setattr(calls, name, getattr(again, name))
    judge(recording, darwin_processes, darwin_facts)
    known = recording.facts
    monkeypatch.setattr(darwin_ports.os, "geteuid", lambda: known["user"])
    [key] = darwin_ports.listening()[known["port"]]
    assert darwin_ports.addresses(known["port"]) == {"127.0.0.1"}
    assert darwin_ports.holds(known["program"], {key})
    assert darwin_streams.stream_of(known["program"]).startswith("pipe:[")
    assert darwin_streams.stream_of(known["program"], 1) in (
        darwin_streams.streams_of(known["program"], to_write=True) or ()
    )
    # The system's own shell shows its words, and hides its variables.
    assert darwin_facts.command_words(known["shell"])[-1] == "read line; exit"
    with pytest.raises(Unknown):
        darwin_processes.raw_environment(known["shell"])


def test_macos_reads_what_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every Mac that was recorded, and of the double in any case."""
    with monkeypatch.context() as patched:
        for each in darwin_kernel.CALLS:
            patched.setattr(calls, each.__name__, each)
        made = Recording(recorder().recorded("darwin", source="double"))
    assert made.source == "double"
    for recording in (made, *recordings.recordings("darwin")):
        with monkeypatch.context() as patched:
            told_again(recording, patched)


def test_the_tool_writes_a_file_without_a_word_of_this_machine(tmp_path: Path) -> None:
    tool = CHECKOUT / "tools" / "record-platform"
    with (tmp_path / "log-of-canary").open("w") as log:
        done = subprocess.run(
            [str(tool), str(tmp_path)],
            env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "HOME": "/nobody/at/all"},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=60,
            check=True,
        )
    [file] = tmp_path.glob("*.json")
    assert str(file) in done.stdout
    plain = recorder().plain(json.loads(file.read_text("utf-8")))
    assert str(CHECKOUT).encode() not in plain
    # Where its own words went shows as little.
    assert str(tmp_path).encode() not in plain
    assert b"canary" not in plain
    # Only of what it started itself: whoever started it shows by a number alone.
    assert plain.count(b"RECORDED=yes") >= 2
    assert b"PYTEST_CURRENT_TEST" not in plain


def test_a_recording_around_what_the_double_fills_in_is_read_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fields that nobody reads have what a Mac has there, once one was recorded."""
    size = 64

    def noisy(system: str, call: str, question: int) -> bytes | None:
        del system
        return b"\xff" * size if (call, question) == ("process_info", 13) else None

    monkeypatch.setattr(darwin_kernel, "recorded_bytes", noisy)
    about = darwin_kernel.process_info(1, 13, 1, size)
    assert b"\xff" * 4 in about
    assert about[:4] == (1).to_bytes(4, sys.byteorder)
