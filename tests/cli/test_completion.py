"""`completion`: scripts that their shells accept and that know every verb."""

import shlex
import subprocess

import pytest

from cli.commands import switchboard
from support.workspace import Workspace
from switchboard.cli.table import VERBS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_every_verb(workspace: Workspace, shell: str) -> None:
    done = switchboard(workspace, "completion", shell)
    assert (done.code, done.err) == (0, "")
    assert all(verb in done.out for verb in VERBS)
    report = switchboard(workspace, "completion", shell, "--json").report
    assert report["script"] + "\n" == done.out


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("tru", {"trust"}),
        ("config ex", {"explain"}),
        ("add --sec", {"--secret-env"}),
        ("--json li", {"list"}),
    ],
)
def test_bash_completes(workspace: Workspace, typed: str, found: set[str]) -> None:
    script = switchboard(workspace, "completion", "bash").out
    program = (
        f"{script}\nCOMP_WORDS=(switchboard {typed})\n"
        'COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n_switchboard\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert (set(done.stdout.split()), done.stderr) == (found, "")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("agents sh", {"show"}),
        ("agents show agent_r", {"agent_reviewer"}),
        # One that is near is not the place for an action.
        ("agents show sh", set[str]()),
        ("bridge ec", {"echo"}),
        ("trust echo ec", {"echo"}),
        ("runs show r-", set[str]()),
    ],
)
def test_bash_completes_the_names_that_there_are(
    workspace: Workspace, typed: str, found: set[str]
) -> None:
    workspace.echo_child("echo")
    # A shell would run the name of this one.
    workspace.mcp_json({"$(touch ran)": {"command": "cat"}})
    agents = workspace.home / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.toml").write_text('name = "reviewer"\n', "utf-8")
    script = switchboard(workspace, "completion", "bash").out
    ours = workspace.root / "switchboard"
    ours.write_text(f'#!/bin/sh\nexec {shlex.join(workspace.command())} "$@"\n', "utf-8")
    ours.chmod(0o755)
    program = (
        f"{script}\nCOMP_WORDS=({ours} {typed})\n"
        f"COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n_switchboard {ours}\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert (set(done.stdout.split()), done.stderr) == (found, "")
    assert not (workspace.root / "ran").exists()


@pytest.mark.parametrize("words", [("completion",), ("completion", "tcsh")])
def test_completion_that_makes_no_sense_ends_with_2(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(workspace, *words)
    assert (done.code, done.out) == (2, "")
