"""A repository that was trusted by its sources cannot run bytecode instead of them."""

import importlib.util
import marshal
import struct
import sys
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard, trust_shown
from support.requirements import attack
from support.workspace import Workspace, server

# What says that nobody needs to compare it with its source.
UNCHECKED = struct.pack("<I", 1) + b"\0" * 8


def _evil_bytecode(source: Path, leaves: Path) -> None:
    cache = Path(importlib.util.cache_from_source(str(source)))
    cache.parent.mkdir(exist_ok=True)
    code = compile(f"open({str(leaves)!r}, 'w')", str(source), "exec")
    cache.write_bytes(importlib.util.MAGIC_NUMBER + UNCHECKED + marshal.dumps(code))


# It is bound to every file of the folder, so that bytecode has it wait for trust again.
UNFOLLOWED = "with a place of its own for bytecode"
# How Python is led to the code, by words that the repository writes.
WAYS = {
    "a module": ["-m", "server"],
    "a folder": ["app"],
    "deaf to variables": ["-E", "-m", "server"],
    "isolated": ["-I", "app"],
    UNFOLLOWED: ["-X", "pycache_prefix=", "-um", "server"],
}


@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("way", WAYS)
@attack("B11")
def test_bytecode_that_comes_after_trust_never_runs(
    workspace: Workspace, way: str, *, confined: bool
) -> None:
    root = workspace.root
    (root / "app").mkdir()
    ran, owned = root / "ran", root / "owned"
    leave = f"open({str(ran)!r}, 'w')\n"
    (root / "server.py").write_text(leave, "utf-8")
    (root / "app" / "__main__.py").write_text("import other\n", "utf-8")
    (root / "app" / "other.py").write_text(leave, "utf-8")
    python = getattr(sys, "_base_executable", sys.executable)
    sandbox = {"sandbox_profile": "default"} if confined else {}
    workspace.mcp_json({"s": server([python, *WAYS[way]], **sandbox)})
    trust_shown(workspace, "s")
    for source in ("server.py", "app/other.py"):
        _evil_bytecode(root / source, owned)
    switchboard(workspace, "doctor", "--deep", env=UNTRUSTING)
    assert (ran.exists(), owned.exists()) == (way != UNFOLLOWED, False)
    assert not [*(root / "app" / "__pycache__").glob("__main__*")]


def test_bytecode_of_a_server_is_kept_where_no_repository_writes(workspace: Workspace) -> None:
    """The second start is as quick as ever, and the workspace stays as it was."""
    root = workspace.root
    (root / "other.py").write_text("pass", "utf-8")
    (root / "server.py").write_text("import other", "utf-8")
    workspace.mcp_json({"s": server([sys.executable, "-m", "server"])})
    trust_shown(workspace, "s")
    switchboard(workspace, "doctor", "--deep", env=UNTRUSTING)
    assert not (root / "__pycache__").exists()
    kept = workspace.home / "bytecode"
    assert [each.name.split(".")[0] for each in kept.rglob("other.*.pyc")] == ["other"]
