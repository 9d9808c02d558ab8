"""On a system that cannot run it, each command says so in one sentence."""

import subprocess
import sys

import pytest

# What Windows does not have.
WITHOUT = """
import os, sys
for name in ("fork", "getuid", "O_NOFOLLOW", "O_CLOEXEC"):
    delattr(os, name)
for name in ("fcntl", "pwd", "resource", "termios"):
    sys.modules[name] = None
sys.platform = "win32"
"""


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("Switchboard", "from switchboard.entry import main; sys.exit(main(['status']))"),
        ("Switchboard", "from switchboard.entry import main; sys.exit(main(['mcp']))"),
        ("Switchyard", "from switchyard.__main__ import main; sys.exit(main())"),
    ],
)
def test_windows_is_told_of_wsl_in_one_sentence(name: str, start: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + start],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == f"error: {name} runs on Linux and macOS; on Windows use WSL 2\n"
    assert (done.returncode, done.stdout) == (1, "")
