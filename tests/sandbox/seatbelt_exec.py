"""Stands for `sandbox-exec` on Linux: of a profile it makes the kernel hold what it can.

That is which ports of TCP a program connects to and binds, by Landlock. What else the profile says
is judged by the reader of profiles. A program with any network at all runs unhindered.
"""

import ctypes
import os
import re
import shlex
import struct
import sys
from pathlib import Path

_NO_NEW_PRIVILEGES = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NET_PORT = 2
_BIND_TCP, _CONNECT_TCP = 1, 2
_PORT = re.compile(r'"localhost:(\d+)"')


def program_in(folder: Path) -> Path:
    """Put it into a folder as a program."""
    made = folder / "sandbox-exec"
    words = shlex.join((sys.executable, "-I", "-S", __file__))
    made.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    made.chmod(0o755)
    return made


def _held_to(ports: list[int]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    asked = struct.pack("=QQ", 0, _BIND_TCP | _CONNECT_TCP)
    rules = libc.syscall(_CREATE_RULESET, asked, len(asked), 0)
    assert rules >= 0, "a kernel whose Landlock knows ports"
    for port in ports:
        rule = struct.pack("=QQ", _CONNECT_TCP, port)
        assert libc.syscall(_ADD_RULE, rules, _NET_PORT, rule, 0) == 0
    assert libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)


def main(arguments: list[str]) -> None:
    """Confine this process as `sandbox-exec -p PROFILE [-DNAME=…] [--] PROGRAM …` says."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from sandbox.seatbelt_rules import Rules  # noqa: PLC0415

    _, profile, *rest = arguments
    at = next(place for place, word in enumerate(rest) if not word.startswith("-D"))
    parameters = dict(word[2:].split("=", 1) for word in rest[:at])
    command = rest[at + 1 :] if rest[at] == "--" else rest[at:]
    rules = Rules(profile, parameters) if "(allow default)" not in profile else None
    if rules is not None and not rules.allows("network-outbound", "1.1.1.1:443", "tcp"):
        named = {int(port) for port in _PORT.findall(profile)}
        _held_to(
            [port for port in named if rules.allows("network-outbound", f"127.0.0.1:{port}", "tcp")]
        )
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
