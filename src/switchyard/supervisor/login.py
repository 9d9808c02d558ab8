"""The variables of the login shell, for clients that start servers with hardly any."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

SHELL_S = 10.0
# Most people's tools are set up where a shell for a person reads; not every shell takes both words.
_WAYS = (("-l", "-i", "-c"), ("-l", "-c"))
# By our own interpreter: not every `env` ends its lines with a zero.
_TELL = (
    'import os, sys; mark = sys.argv[1].encode(); sys.stdout.buffer.write(mark + b"\\0".join('
    'name + b"=" + value for name, value in os.environb.items()) + mark)'
)
# What an interpreter adds by itself where nobody has said which letters there are.
_ADDED = ("LC_CTYPE", "C.UTF-8")


@cache
def _capture(shell: str) -> tuple[tuple[str, str], ...]:
    """Read once; kept in memory only."""
    # Profiles print whatever they like before and after.
    mark = f"--{os.urandom(8).hex()}--"
    script = shlex.join([sys.executable, "-I", "-S", "-c", _TELL, mark])
    for way in _WAYS:
        try:
            done = subprocess.run(
                [shell, *way, script],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SHELL_S,
                check=False,
                # A shell for a person would take the terminal from whoever has it.
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
        _, _, said = done.stdout.partition(mark.encode())
        told, end, _ = said.partition(mark.encode())
        if end:
            pairs = [os.fsdecode(entry).partition("=") for entry in told.split(b"\0")]
            found = ((name, value) for name, equals, value in pairs if equals)
            return tuple(each for each in found if each != _ADDED)
    return ()


def login_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """The login shell's variables, overridden by the caller's."""
    return {**dict(_capture(caller.get("SHELL") or "/bin/sh")), **caller}
