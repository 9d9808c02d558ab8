"""A program that is started detached belongs to nobody and holds nothing of ours."""

import json
import os
import select
import sys
from pathlib import Path

from support.processes import wait_until_gone
from switchkit.daemons import READY_FILE, start_detached
from switchkit.files import open_log

PROGRAM = f"""
import json, os, sys
files = sorted(int(name) for name in os.listdir("/dev/fd"))
told = {{
    "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "cwd": os.getcwd(),
    "variables": dict(os.environ), "arguments": sys.argv[1:],
    "files": [each for each in files if os.path.exists(f"/dev/fd/{{each}}")],
}}
print("a word for the log", flush=True)
os.write({READY_FILE}, json.dumps(told).encode() + b"\\n")
os.close({READY_FILE})
"""


def test_it_is_nobodys_child_in_a_session_of_its_own_with_nothing_of_ours(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log")
    hearing, ready = os.pipe()
    left_open = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(left_open, True)
    try:
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, "a b", "$HOME;'"]
        start_detached(command, {"ONE": "1"}, log=log, ready=ready)
    finally:
        for number in (log, ready, left_open):
            os.close(number)
    with os.fdopen(hearing, "rb") as file:
        assert select.select([file], [], [], 30)[0]
        told = json.loads(file.readline())
        # At its end nobody else holds the file.
        assert file.read() == b""
    wait_until_gone([told["pid"]])
    assert told["parent"] != os.getpid()
    assert told["session"] not in {os.getsid(0), told["pid"]}
    assert told["cwd"] == "/"
    assert told["variables"]["ONE"] == "1"
    assert "HOME" not in told["variables"]
    assert told["arguments"] == ["a b", "$HOME;'"]
    assert told["files"] == [0, 1, 2, READY_FILE]
    assert (tmp_path / "log").read_text() == "a word for the log\n"
