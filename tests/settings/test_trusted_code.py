"""Nothing that a trusted command line loads is left out of what was trusted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from settings.ground import Ground
from support.requirements import attack
from switchboard.settings.trust import still_trusted, trust

Step = Callable[[Path], None]


def _put(name: str, text: str = "good") -> Step:
    def put(workspace: Path) -> None:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    return put


def _link(name: str, target: str) -> Step:
    def link(workspace: Path) -> None:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    return link


def _many(workspace: Path) -> None:
    (workspace / "app" / "a").mkdir(parents=True)
    for number in range(5_001):
        (workspace / "app" / "a" / f"{number}.txt").touch()


# Before trust, the command line, and what changes afterwards.
WAYS: dict[str, tuple[list[Step], list[str], Step]] = {
    "a link's file": (
        [_put("lib/x.py"), _link("app/x.py", "../lib/x.py")],
        ["python3", "app"],
        _put("lib/x.py", "evil"),
    ),
    "a linked folder": (
        [_put("lib/x.py"), _link("app/other", "../lib")],
        ["python3", "app"],
        _put("lib/x.py", "evil"),
    ),
    "a linked folder in a linked folder": (
        [_put("far/x.py"), _link("lib/far", "../far"), _link("app/other", "../lib")],
        ["python3", "app"],
        _put("far/x.py", "evil"),
    ),
    "a linked folder outside": (
        [_put("../out/x.py"), _link("app/other", "../../out")],
        ["python3", "app"],
        _put("../out/x.py", "evil"),
    ),
    "a folder that is a link out": (
        [_put("../out/__main__.py"), _link("app", "../out")],
        ["python3", "app"],
        _put("../out/other.py", "evil"),
    ),
    "the 5,001st file": (
        [_many, _put("app/z/x.py")],
        ["python3", "app"],
        _put("app/z/x.py", "evil"),
    ),
    "the caches of tools": (
        [_put("app/.pytest_cache/x.py")],
        ["python3", "app"],
        _put("app/.pytest_cache/x.py", "evil"),
    ),
    "machine code for a module": (
        [_put("server.py")],
        ["python3", "-m", "server"],
        _put("server.abi3.so", "evil"),
    ),
    "bytecode without a source": (
        [_put("src/server.txt")],
        ["python3", "-m", "server"],
        _put("src/server.pyc", "evil"),
    ),
    "bytecode for a Python that others start": (
        [_put("server.py")],
        ["env", "-i", "python3", "-m", "server"],
        _put("__pycache__/server.cpython-311.pyc", "evil"),
    ),
    "bytecode in a folder, for a Python that others start": (
        [_put("app/x.py")],
        ["env", "-i", "python3", "app"],
        _put("app/__pycache__/x.cpython-311.pyc", "evil"),
    ),
    "a path file of an environment": (
        [_put(".venv/lib/python3.11/site-packages/x.txt"), _put(".venv/bin/python")],
        [".venv/bin/python", "-m", "server"],
        _put(".venv/lib/python3.11/site-packages/x.pth", "import evil"),
    ),
    "a customizer of an environment": (
        [_put(".venv/lib/python3.11/site-packages/x.txt"), _put(".venv/bin/python3.11")],
        [".venv/bin/python3.11", "-c", "0"],
        _put(".venv/lib/python3.11/site-packages/usercustomize.py", "evil"),
    ),
    "the settings of an environment": (
        [_put(".venv/pyvenv.cfg"), _put(".venv/bin/python")],
        [".venv/bin/python", "-c", "0"],
        _put(".venv/pyvenv.cfg", "home = ."),
    ),
    "an archive": ([_put("app.zip")], ["python3", "app.zip"], _put("app.zip", "evil")),
    "what a manifest names": (
        [_put("package.json", '{"main": "lib/start"}'), _put("lib/start.js")],
        ["node", "."],
        _put("lib/start.js", "evil"),
    ),
    "what a manifest exports": (
        [_put("package.json", '{"exports": {".": {"node": "./b/c.cjs"}}}'), _put("b/c.cjs")],
        ["node", "."],
        _put("b/c.cjs", "evil"),
    ),
    "a manifest that leads out of its folder": (
        [_put("app/package.json", '{"main": "../lib/x.js"}'), _put("lib/x.js")],
        ["node", "app"],
        _put("lib/x.js", "evil"),
    ),
    "a package by its name": (
        [_put("node_modules/@a/b/index.js")],
        ["node", "--require=@a/b/register", "-e", "0"],
        _put("node_modules/@a/b/index.js", "evil"),
    ),
    "a linked package": (
        [_put("packages/b/x.js"), _link("node_modules/b", "../packages/b")],
        ["node", "-r", "b", "-e", "0"],
        _put("packages/b/x.js", "evil"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@attack("B11")
def test_what_is_loaded_by_another_way_asks_again(ground: Ground, way: str) -> None:
    there, words, change = WAYS[way]
    for step in there:
        step(ground.workspace)
    entry = {"command": words[0], "args": words[1:]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    change(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))
    assert not ground.load(trusted=False).servers


def _waits(ground: Ground, *words: str) -> bool:
    entry = {"command": words[0], "args": list(words[1:])}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    done = trust(ground.load(trusted=False))
    settings = ground.load(trusted=False)
    assert bool(done) == bool(settings.servers)
    return len(settings.untrusted) == 1


def test_links_that_lead_back_are_followed_once(ground: Ground) -> None:
    _put("app/__main__.py")(ground.workspace)
    _link("app/again", ".")(ground.workspace)
    _link("app/above", "..")(ground.workspace)
    assert not _waits(ground, "python3", "app")


def test_what_holds_too_much_cannot_be_trusted(ground: Ground, tmp_path: Path) -> None:
    """A link to everything: nobody could look at all of it, so nobody has."""
    for folder in range(21):
        (tmp_path / "out" / str(folder)).mkdir(parents=True)
        for number in range(1_000):
            os.mknod(tmp_path / "out" / str(folder) / str(number))
    _put("app/__main__.py")(ground.workspace)
    _link("app/all", str(tmp_path / "out"))(ground.workspace)
    assert _waits(ground, "python3", "app")


def test_what_is_read_from_a_pipe_cannot_be_trusted(ground: Ground) -> None:
    """Whoever writes to it decides what runs, and no look at it tells."""
    _put("app/index.js")(ground.workspace)
    os.mkfifo(ground.workspace / "app" / "x.js")
    assert _waits(ground, "node", "app")


def test_a_manifest_that_two_readers_read_in_two_ways_is_bound_with_every_file(
    ground: Ground,
) -> None:
    lone = json.dumps({"main": "lib/x.js", "a": "\ud800"})
    _put("package.json", lone)(ground.workspace)
    assert not _waits(ground, "node", ".")
    _put("lib/other.js", "evil")(ground.workspace)
    assert not ground.load(trusted=False).servers


def test_bytecode_that_nobody_reads_does_not_ask(ground: Ground) -> None:
    """Every run of a test writes some; what Python we start ourselves does not look at it."""
    _put("app/__main__.py")(ground.workspace)
    assert not _waits(ground, "python3", "app")
    _put("app/__pycache__/x.cpython-311.pyc", "evil")(ground.workspace)
    assert ground.load(trusted=False).servers


def test_an_activated_environment_of_the_workspace_counts_too(ground: Ground) -> None:
    """Its Python is found by its bare name, and loads what lies beside it."""
    _put(".venv/bin/python3")(ground.workspace)
    packages = ".venv/lib/python3.11/site-packages"
    _put(f"{packages}/x.txt")(ground.workspace)
    entry = {"command": "python3", "args": ["-m", "server"]}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    path = f"{ground.workspace}/.venv/bin{os.pathsep}/usr/bin"
    trust(ground.load(trusted=False, PATH=path))
    assert ground.load(trusted=False, PATH=path).servers
    _put(f"{packages}/x.pth", "import evil")(ground.workspace)
    assert not ground.load(trusted=False, PATH=path).servers
