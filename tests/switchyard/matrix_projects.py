"""Rows of the matrix about projects: their branches, names, folders and configuration."""

import os
import random
import shutil
from pathlib import Path

from matrix_case import READY, SERVE, Case, Expected
from yardlab import Json, Lab, connects, get, processes

UNKNOWN_NAMES = f'tld = "nowhere.invalid"\n{SERVE}'
SHARED_PORT = SERVE.replace("port = 0", "port = CANONICAL")


def _two_clones(lab: Lab, _: Json, __: random.Random) -> Expected:
    """A second clone of the repository runs too, and each name leads to its own."""
    clone = lab.folder / "elsewhere" / "shop"
    lab.git("clone", "-q", str(lab.root), str(clone))
    lab.json("up", cwd=clone)
    lab.cleanup(lambda: lab.sy("down", cwd=clone, code=None))
    there = lab.json("where", "web", cwd=clone)["service"]
    assert there["url"] != lab.web()["url"]
    lab.json("down", cwd=clone)
    assert lab.json("status", cwd=clone)["services"] == []
    return READY


def _canonical_stolen(lab: Lab, web: Json, _: random.Random) -> Expected:
    """A stranger takes the canonical port while no supervisor looks."""
    lab.json("checkout", lab.branch)
    lab.kill_supervisor()
    lab.listener(web["canonical_port"])
    lab.json("up", lab.branch)
    (row,) = lab.json("brief", "--branch", lab.branch)["checkouts"]
    assert (row["active"], row["port_owner"]["pid"]) == (False, os.getpid())
    return READY


def _configuration_changed(lab: Lab, _: Json, chance: random.Random) -> Expected:
    if chance.random() < 0.5:
        lab.kill_supervisor()
    path = lab.root / "switchyard.toml"
    path.write_text(path.read_text().replace("[services.web]", '[services.web]\nenv = { A = "1" }'))
    (row,) = lab.json("status", "--branch", lab.branch)["services"]
    assert row["changed"] is True
    return READY


def _branch_switched(lab: Lab, _: Json, chance: random.Random) -> Expected:
    if chance.random() < 0.5:
        lab.kill_supervisor()
    lab.git("switch", "-q", "-c", "another", cwd=lab.worktree())
    return Expected("running", ("ready",), "branch-switched")


def _worktree_deleted(lab: Lab, _: Json, __: random.Random) -> Expected:
    shutil.rmtree(lab.worktree())
    return READY


def _project_moved(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """For a while the folder is elsewhere; what runs is told and never doubled."""
    if chance.random() < 0.5:
        lab.kill_supervisor()
    there = lab.folder / "moved"
    lab.root.rename(there)
    [row] = lab.json("ps", cwd=lab.folder)["services"]
    assert (row["pid"], row["root_gone"]) == (web["pid"], True)
    [told] = lab.json("status", cwd=there)["services"]
    assert (told["pid"], told["status"]) == (web["pid"], "running")
    there.rename(lab.root)
    return READY


def _names_unknown(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """No program can resolve the names, so a service is given addresses that it can use."""
    if chance.random() < 0.5:
        lab.kill_supervisor()
        lab.json("restart", "web", "--branch", lab.branch)
    now = lab.web()
    given = processes()[now["pid"]]["env"]["SWITCHYARD_WEB_URL"]
    assert given == f"http://127.0.0.1:{now['port']}" == now["direct_url"]
    assert connects(now["port"])
    assert lab.json("brief", "--branch", lab.branch)["names_resolve"] is False
    assert any("does not resolve" in one for one in lab.json("doctor")["notes"])
    assert now["port"] == web["port"]
    return READY


def _data_of_removed(lab: Lab, _: Json, chance: random.Random) -> Expected:
    """A branch is removed and made again; it begins with nothing of the old one's."""
    for number in range(2):
        lab.json("create", "again")
        row = lab.json("up", "again")["services"][0]
        data = Path(processes()[row["pid"]]["env"]["DATA"])
        assert data.is_dir()
        assert list(data.iterdir()) == []
        assert "left by" not in Path(row["log_path"]).read_text()
        (data / f"left-{number}").touch()
        with Path(row["log_path"]).open("a") as log:
            log.write(f"left by {number}\n")
        if chance.random() < 0.5:
            lab.json("down", "again")
        lab.json("rm", "again", "--delete-branch", "--force-branch")
    return READY


def _names_beyond_ascii(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """Branches whose names have no letter of ASCII run side by side, each under its own name."""
    branches = ["größe", *chance.sample(["日本語", "日本", "пример", "два"], 2)]
    urls = {lab.branch: web["url"]}
    for branch in branches:
        lab.json("create", branch)
        urls[branch] = lab.json("up", branch)["services"][0]["url"]
    assert len(set(urls.values())) == 4
    for branch, url in urls.items():
        name = url.removeprefix("http://").partition(":")[0]
        assert get(lab.proxy_port, name=name) == f"{branch} web"
    for branch in branches:
        lab.json("down", branch)
    return READY


def _port_wanted_twice(lab: Lab, web: Json, chance: random.Random) -> Expected:
    """Two services have one canonical port: it leads to the one that is named, or to nobody."""
    port = web["canonical_port"]
    error = lab.json("checkout", lab.branch, code=4)["error"]
    assert error["code"] == "port-wanted-twice"
    assert not connects(port)
    assert lab.json("brief", "--branch", lab.branch)["checkouts"] == []
    for name in chance.sample(["web", "other"], 2):
        lab.json("checkout", lab.branch, name)
        assert get(port) == f"{lab.branch} {name}"
        (row,) = lab.json("brief", "--branch", lab.branch)["checkouts"]
        assert (row["port"], row["service"], row["active"]) == (port, name, True)
    return READY


PROJECT_CASES: dict[str, Case] = {
    "branch-switched": Case(_branch_switched),
    "worktree-deleted": Case(_worktree_deleted),
    "two-clones": Case(_two_clones),
    "canonical-stolen": Case(_canonical_stolen, SHARED_PORT),
    "configuration-changed": Case(_configuration_changed),
    "project-moved": Case(_project_moved),
    "names-unknown": Case(_names_unknown, UNKNOWN_NAMES),
    "data-of-removed": Case(_data_of_removed, SERVE + 'env = { DATA = "{data_dir}" }\n'),
    "names-beyond-ascii": Case(_names_beyond_ascii),
    "port-wanted-twice": Case(
        _port_wanted_twice, SHARED_PORT + SHARED_PORT.replace("services.web", "services.other")
    ),
}
