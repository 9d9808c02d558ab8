"""A dozen real servers say behind Switchboard what they say directly, and none needs a network.

Listings, calls, wrong arguments, prompts, resources and a cancelled call are compared, as
`bench/same.py` does in more ways for every server that it can install.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import wait_until_none_mention
from support.workspace import CHECKOUT

PATIENCE = 110
SUITE = "suite, handshake"
# A modern server, asked by a modern client through the daemon.
OWN_NAMES = "own names, modern"
SERVERS = {
    "everything": SUITE,
    "memory": SUITE,
    "filesystem": SUITE,
    "sequential-thinking": SUITE,
    "eslint": SUITE,
    "commands": SUITE,
    "time-js": SUITE,
    "hello-world": SUITE,
    "budget-allocator": OWN_NAMES,
    "git": SUITE,
    "time": OWN_NAMES,
    "fetch": SUITE,
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_real_server_says_behind_switchboard_what_it_says_directly(
    name: str, tmp_path: Path
) -> None:
    words = ("--only", name, "--ways", SERVERS[name], "--check")
    done = subprocess.run(
        (sys.executable, CHECKOUT / "bench" / "same.py", *words),
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 servers" in done.stdout
    wait_until_none_mention(str(tmp_path))
