"""What a clone names is looked through within one budget, however it is made."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard
from settings.ground import Ground
from support.requirements import attack
from support.workspace import Workspace
from switchboard.config.documents import MAX_FOREIGN_BYTES
from switchboard.settings.consent.trust_record import is_unbound
from switchboard.settings.fingerprints import fingerprint
from switchboard.settings.sections import Settings
from switchboard.settings.trust import still_trusted

# Each took between 5 and more than 60.
# Where lines are counted for coverage, each costs several times as much.
CPU_S = 1.6 if "coverage" not in sys.modules else 8.0
LARGE = 31 << 20


def sparse(path: Path, size: int = LARGE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def files(root: Path) -> dict[str, list[str]]:
    for number in range(64):
        sparse(root / f"f{number}")
    return {"s": ["node", *(f"f{number}" for number in range(64))]}


def one_file(root: Path) -> dict[str, list[str]]:
    sparse(root / "f")
    return {f"s{number}": ["node", "f", str(number)] for number in range(300)}


def links(root: Path) -> dict[str, list[str]]:
    sparse(root / "f")
    for number in range(200):
        (root / f"l{number}").symlink_to("f")
    return {"s": ["true", *(f"l{number}" for number in range(200))]}


def hard_links(root: Path) -> dict[str, list[str]]:
    sparse(root / "f")
    for number in range(200):
        (root / f"l{number}").hardlink_to(root / "f")
    return {"s": ["true", *(f"l{number}" for number in range(200))]}


def words(root: Path) -> dict[str, list[str]]:
    del root
    return {f"s{at}": ["python3", *(f"w{number:x}" for number in range(600))] for at in range(200)}


def interpreters(root: Path) -> dict[str, list[str]]:
    del root
    return {f"s{at}": ["python"] * 600 for at in range(200)}


def modules(root: Path) -> dict[str, list[str]]:
    for number in range(2_000):
        (root / f"m{number}.py").touch()
    return {f"s{at}": ["python", *(f"-mm{number}" for number in range(600))] for at in range(8)}


def long_ways(root: Path) -> dict[str, list[str]]:
    """Each link leads through hundreds of folders to the next, and every word through all."""
    (root / "a").mkdir()
    way = "a/../" * 700
    (root / "l0").symlink_to(way + "a")
    for number in range(1, 39):
        (root / f"l{number}").symlink_to(f"{way}l{number - 1}")
    return {f"s{at}": ["true", *(f"l38/{number:x}" for number in range(600))] for at in range(8)}


def chains(root: Path) -> dict[str, list[str]]:
    """A chain that no program follows to its end, and that once ended the load."""
    for number in range(3_000):
        (root / f"l{number}").symlink_to(f"l{number + 1}")
    return {"s": ["true", *(f"l{number}" for number in range(600))]}


def manifests(root: Path) -> dict[str, list[str]]:
    for number in range(100):
        text = json.dumps({"exports": [[]] * 250_000})
        path = root / f"d{number}" / "package.json"
        path.parent.mkdir()
        path.write_text(text, "utf-8")
    return {"s": ["node", *(f"d{number}" for number in range(100))]}


def crowd(root: Path) -> dict[str, list[str]]:
    """More files than can be bound, for each of hundreds of lines that cannot be followed."""
    (root / "d").mkdir()
    for number in range(20_100):
        os.mknod(root / "d" / str(number))
    return {f"s{at}": ["make", f"t{at}"] for at in range(300)}


CLONES = (
    *(files, one_file, links, hard_links, words, interpreters, modules),
    *(long_ways, chains, manifests),
)


def put(root: Path, servers: dict[str, list[str]]) -> None:
    told = {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}
    text = json.dumps({"mcpServers": told}, separators=(",", ":"))
    if len(text) < MAX_FOREIGN_BYTES:
        (root / ".switchboard").mkdir(exist_ok=True)
        (root / ".switchboard" / "mcp.json").write_text(text, "utf-8")
        return
    for name, (command, *args) in servers.items():
        path = root / ".switchboard" / "mcps" / name / ".mcp.json"
        path.parent.mkdir(parents=True)
        child = {"name": name, "command": {"cmd": command, "args": args}}
        path.write_text(json.dumps(child, separators=(",", ":")), "utf-8")


def loaded(ground: Ground, **options: str) -> tuple[Settings, float]:
    began = time.process_time()
    settings = ground.load(trusted=False, variables={"PATH": os.environ["PATH"], **options})
    return settings, time.process_time() - began


@pytest.mark.parametrize("make", CLONES, ids=lambda each: each.__name__)
@attack("B10")
def test_no_clone_takes_long_to_be_looked_through(
    ground: Ground, make: Callable[[Path], dict[str, list[str]]]
) -> None:
    put(ground.workspace, make(ground.workspace))
    settings, took = loaded(ground)
    assert settings.untrusted
    assert took < CPU_S


@attack("T88")
def test_a_folder_that_is_too_large_is_gone_through_once(ground: Ground) -> None:
    """Attempted: each entry has all of it gone through again, which took a minute."""
    put(ground.workspace, crowd(ground.workspace))
    settings, took = loaded(ground)
    assert len(settings.untrusted) == 300
    assert took < CPU_S


def test_what_is_beyond_the_budget_waits_and_the_rest_is_bound_as_ever(ground: Ground) -> None:
    """A fingerprint is the same in a load with others and alone, or it is none."""
    ground.put(ground.workspace / "server.py", "print(1)")
    put(ground.workspace, {"small": ["python3", "server.py"], **files(ground.workspace)})
    settings, _ = loaded(ground)
    small, large = settings.untrusted
    assert is_unbound(large.fingerprint)
    assert small.seal is not None
    assert small.fingerprint == fingerprint(small.seal, str(ground.workspace))
    assert still_trusted(small, str(ground.workspace))
    ground.put(ground.workspace / "server.py", "print(2)")
    assert not still_trusted(small, str(ground.workspace))


def test_a_workspace_as_people_have_them_is_within_the_budget(ground: Ground) -> None:
    """Forty servers, among them packages of some size."""
    for number in range(3):
        sparse(ground.workspace / "bin" / f"tool{number}")
    for name in ("pkg", "src/other"):
        for number in range(400):
            ground.put(ground.workspace / name / f"m{number}.py", "x = 1\n" * 50)
    runners = [
        ["npx", "-y", f"@scope/server-{number}@1.2.3", "--root", "src/other", "--port=80"]
        for number in range(25)
    ]
    own = [["python3", "-m", "pkg", "--config", f"c{number}.toml"] for number in range(12)]
    programs = [[f"bin/tool{number}", "serve"] for number in range(3)]
    put(
        ground.workspace,
        {f"s{at}": each for at, each in enumerate((*runners, *own, *programs))},
    )
    settings, _ = loaded(ground)
    assert len(settings.untrusted) == 40
    assert not [each.name for each in settings.untrusted if is_unbound(each.fingerprint)]


@attack("B10")
def test_a_person_is_told_what_cannot_be_looked_through(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    put(workspace.root, {**one_file(workspace.root), **files(workspace.root)})
    began = os.times()
    shown = switchboard(workspace, "trust", env=UNTRUSTING)
    ended = os.times()
    assert "too large to be looked through, or a pipe: name fewer files" in shown.err
    assert ended.children_user - began.children_user < 2 * CPU_S + 1
    refused = switchboard(workspace, "trust", "s", env=UNTRUSTING)
    assert refused.code != 0
    assert "too large to be looked through" in refused.out + refused.err
