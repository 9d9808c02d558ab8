"""Code that a command line leads to, in whatever way, is part of what was trusted."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from settings.ground import Ground
from settings.made_data import sqlite
from support.requirements import attack
from switchboard.children.schema import ServerEntry
from switchboard.settings.trust import still_trusted, trust

Change = Callable[[Path], None]


def _write(name: str, text: str = "evil") -> Change:
    def write(workspace: Path) -> None:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)

    return write


def _relink(name: str, target: str) -> Change:
    def link(workspace: Path) -> None:
        (workspace / name).unlink()
        (workspace / name).symlink_to(workspace.parent / target)

    return link


# What is there, what is run, and what is changed afterwards.
WAYS: dict[str, tuple[list[str], list[str], dict[str, str], Change]] = {
    "module": (["server.py"], ["python3", "-m", "server"], {}, _write("server.py")),
    "package": (["pkg/a.py"], ["python3", "-m", "pkg.a"], {}, _write("pkg/__init__.py")),
    "joined module": (["server.py"], ["python3", "-mserver"], {}, _write("server.py")),
    "module in src": (["src/p/x.py"], ["python3", "-m", "p"], {}, _write("src/p/x.py")),
    "folder": (["app/__main__.py"], ["python3", "app"], {}, _write("app/other.py")),
    "dot": (["index.js"], ["node", "."], {}, _write("index.js")),
    "dot by its manifest": (["index.js"], ["node", "."], {}, _write("package.json")),
    "no ending": (["dist/index.js"], ["node", "dist/index"], {}, _write("dist/index.js")),
    "option": (["x.js"], ["node", "--require=./x.js", "-e", "0"], {}, _write("x.js")),
    "odd ending": (["x.log"], ["node", "--require=./x.log"], {}, _write("x.log")),
    "joined option": (["inc/x.pm"], ["perl", "-Iinc", "-e", "0"], {}, _write("inc/x.pm")),
    "npm": (["package.json"], ["npm", "run", "serve"], {}, _write("package.json")),
    "npm settings": (["package.json"], ["npm", "run", "serve"], {}, _write(".npmrc")),
    "npx": (["node_modules/.bin/tool"], ["npx", "tool"], {}, _write("node_modules/.bin/tool")),
    "make": (["Makefile"], ["make", "serve"], {}, _write("Makefile")),
    "uv": (["pyproject.toml"], ["uv", "run", "serve"], {}, _write("pyproject.toml")),
    "text": (["x"], ["sh", "-c", "cd /; exec ./x --stdio"], {}, _write("x")),
    "text of an option": (["x"], ["env", "-S", "sh -c ./x"], {}, _write("x")),
    "own path": (["bin/tool"], ["tool"], {"PATH": "./bin"}, _write("bin/tool")),
    "linked out": ([], ["sh", "run.sh"], {}, _relink("run.sh", "evil.sh")),
}


@pytest.mark.parametrize("way", WAYS)
@attack("B11")
def test_a_change_of_what_runs_asks_again(ground: Ground, way: str) -> None:
    """The repository is trusted, and then brings other code to the same command line."""
    there, words, env, change = WAYS[way]
    for name in there:
        _write(name, "good")(ground.workspace)
    for name in ("good.sh", "evil.sh"):
        ground.put(ground.workspace.parent / name, name)
    (ground.workspace / "run.sh").symlink_to(ground.workspace.parent / "good.sh")
    entry: dict[str, Any] = {"command": words[0], "args": words[1:], "env": env}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    change(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))
    settings = ground.load(trusted=False)
    assert (settings.servers, len(settings.untrusted)) == ((), 1)


PROJECTS = {
    "make": (["make", "-C", "sub"], "sub/Makefile"),
    "make, joined": (["make", "-Csub"], "sub/Makefile"),
    "make, by its long name": (["make", "--directory=sub"], "sub/Makefile"),
    "make, one below the other": (["make", "-C", "sub", "-C", "inner"], "sub/inner/Makefile"),
    "npm": (["npm", "--prefix", "sub", "start"], "sub/package.json"),
    "npm, joined": (["npm", "--prefix=./sub", "start"], "sub/package.json"),
    "npm, its settings": (["npm", "--prefix", "sub", "start"], "sub/.npmrc"),
    "npx": (["npx", "--prefix", "sub", "tool"], "sub/node_modules/.bin/tool"),
    "npx of a folder": (["npx", "--package=./sub", "tool"], "sub/package.json"),
    "uv": (["uv", "--directory", "sub", "run", "serve"], "sub/pyproject.toml"),
    "text": (["sh", "-c", "cd sub && make serve"], "sub/Makefile"),
}


@pytest.mark.parametrize("way", PROJECTS)
@attack("T14")
def test_a_change_in_a_folder_that_a_runner_is_sent_to_asks_again(ground: Ground, way: str) -> None:
    words, changed = PROJECTS[way]
    _write("sub/inner/other")(ground.workspace)
    _write(changed, "good")(ground.workspace)
    trusted = _trusted(ground, *words)
    _write(changed)(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))
    assert ground.load(trusted=False).servers == ()


@attack("T14")
def test_what_comes_into_a_folder_that_a_runner_is_sent_to_asks_again(ground: Ground) -> None:
    _write("sub/makefile", "good")(ground.workspace)
    trusted = _trusted(ground, "make", "-C", "sub")
    # It is read before the other.
    _write("sub/GNUmakefile")(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))


WITHIN = {
    "uv": (["uv", "--directory", "sub", "run", "server.py"], "sub/server.py"),
    "uv, a module": (["uv", "--directory", "sub", "run", "-m", "mod"], "sub/mod.py"),
    "uv, a program": (["uv", "--directory", "sub", "run", "tool"], "sub/.venv/bin/tool"),
    "env": (["env", "-C", "sub", "python3", "server.py"], "sub/server.py"),
    "env, joined": (["env", "--chdir=sub", "./run"], "sub/run"),
    "env, a module": (["env", "-C", "sub", "python3", "-m", "mod"], "sub/mod.py"),
    "env, a package": (["env", "-C", "sub", "python3", "inner"], "sub/inner/more.py"),
    "env, no ending": (["env", "-C", "sub", "node", "index"], "sub/index.js"),
    "text": (["sh", "-c", "cd sub && exec python3 server.py"], "sub/server.py"),
    "text, a program": (["sh", "-c", "cd sub && exec ./run.sh"], "sub/run.sh"),
    "text, one below the other": (["sh", "-c", "cd sub; cd inner; ./x"], "sub/inner/x"),
    "text, a module": (["sh", "-c", "cd sub && python3 -m mod"], "sub/mod.py"),
    "text, no ending": (["bash", "-lc", "cd sub && node index"], "sub/index.js"),
    "text, its settings": (["bash", "-lc", "cd sub && npm start"], "sub/package.json"),
    "npm": (["npm", "--prefix", "sub", "start"], "sub/server.js"),
    "go": (["go", "run", "./sub"], "sub/main.go"),
    "go, sent there": (["go", "-C", "sub", "run", "."], "sub/main.go"),
    "make": (["make", "-I", "sub", "-f", "Makefile"], "sub/rules.mk"),
    "another program": (["nice-server", "--chdir", "sub", "plugin.py"], "sub/plugin.py"),
}


@pytest.mark.parametrize("way", WITHIN)
@attack("T19")
def test_a_change_of_code_in_a_folder_that_a_program_is_sent_to_asks_again(
    ground: Ground, way: str
) -> None:
    words, changed = WITHIN[way]
    _write("sub/inner/other")(ground.workspace)
    _write(changed, "good")(ground.workspace)
    trusted = _trusted(ground, *words)
    assert still_trusted(trusted, str(ground.workspace))
    _write(changed)(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))
    assert ground.load(trusted=False).servers == ()


@attack("T19")
def test_a_folder_that_is_named_by_its_whole_path_counts_as_well(ground: Ground) -> None:
    _write("sub/server.py", "good")(ground.workspace)
    trusted = _trusted(ground, "uv", "--directory", f"{ground.workspace}/sub", "run", "server.py")
    _write("sub/server.py")(ground.workspace)
    assert not still_trusted(trusted, str(ground.workspace))


def test_a_database_in_a_folder_that_a_program_is_sent_to_is_data(ground: Ground) -> None:
    _write("sub/server.py", "good")(ground.workspace)
    words = ("uv", "--directory", "sub", "run", "server.py", "--db-path", "x.db")
    trusted = _trusted(ground, *words)
    ground.put(ground.workspace / "sub" / "x.db", sqlite("1"))
    assert still_trusted(trusted, str(ground.workspace))


def _trusted(ground: Ground, *words: str) -> ServerEntry:
    entry = {"command": words[0], "args": list(words[1:])}
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": entry}})
    trust(ground.load(trusted=False))
    (trusted,) = ground.load(trusted=False).servers
    return trusted


def test_a_program_that_comes_into_the_path_of_the_user_asks_again(ground: Ground) -> None:
    """An activated environment lies in the workspace, and gets a program of the server's name."""
    ground.put(ground.own / "mcp.json", {"mcpServers": {"x": {"command": "tool"}}})
    path = f"{ground.workspace}/.venv/bin{os.pathsep}/usr/bin"
    trust(ground.load(trusted=False, PATH=path))
    assert ground.load(trusted=False, PATH=path).servers
    _write(".venv/bin/tool")(ground.workspace)
    assert not ground.load(trusted=False, PATH=path).servers


def test_a_script_outside_that_is_named_or_linked_to_asks_again(ground: Ground) -> None:
    script = ground.put(ground.user_home / "run.sh", "good")
    named = _trusted(ground, "sh", str(script))
    script.write_text("evil", "utf-8")
    assert not still_trusted(named, str(ground.workspace))


def test_what_a_server_works_on_is_not_what_it_is(ground: Ground) -> None:
    """A database changes with every call; to ask again each time would teach to agree unseen."""
    data = ground.put(ground.workspace / "data.db", sqlite("1"))
    notes = ground.put(ground.workspace / "docs" / "notes.txt", "1")
    entry = _trusted(ground, "uvx", "mcp-server-sqlite", "--db-path=./data.db", "--root=docs")
    data.write_bytes(sqlite("2"))
    notes.write_text("2", "utf-8")
    assert still_trusted(entry, str(ground.workspace))


def test_a_large_file_is_told_by_its_identity(ground: Ground) -> None:
    big = ground.workspace / "big.py"
    with big.open("wb") as file:
        file.truncate(64 << 20)
    entry = _trusted(ground, "python3", "big.py")
    assert still_trusted(entry, str(ground.workspace))
    with big.open("r+b") as file:
        file.write(b"evil")
    assert not still_trusted(entry, str(ground.workspace))
