"""`switchboard runs` as a person types it, with runs of the real Codex in the daemon."""

import json
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.real_codex import configure, playing
from cli.commands import switchboard
from support.models.script import say, shell
from support.processes import mentioning, wait_until_none_mention
from support.workspace import Workspace

PATIENCE = 60.0
RUN = ("agents", "run", "Reviewer", "--task", "make it")


@pytest.fixture(autouse=True)
def configured(workspace: Workspace) -> None:
    configure(workspace, unconfined=True)


def listed(workspace: Workspace) -> list[dict[str, Any]]:
    return switchboard(workspace, "runs", "--json").report["runs"]


@contextmanager
def typed(workspace: Workspace, *words: str) -> Generator[subprocess.Popen[str]]:
    """A command that goes on while others are typed."""
    with subprocess.Popen(
        workspace.command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=workspace.root,
        env=workspace.env,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def sleeping(workspace: Workspace, mark: Path) -> Generator[str]:
    """A run that works, in a shell that sleeps; gives its id."""
    command = f"sh -c 'touch {mark}; exec tail -f {mark}'"
    with playing(workspace, shell(command), say("never")), typed(workspace, *RUN):
        until = time.monotonic() + PATIENCE
        while not mark.exists():
            assert time.monotonic() < until, listed(workspace)
            time.sleep(0.05)
        yield str(listed(workspace)[0]["id"])


def test_a_run_is_listed_shown_and_gone_on_with(workspace: Workspace) -> None:
    with playing(workspace, shell("echo made"), say("made it"), say("tested it")) as model:
        assert switchboard(workspace, *RUN).out == "made it\n"
        (first,) = listed(workspace)
        assert (first["agent"], first["task"], first["state"]) == (
            "reviewer",
            "make it",
            "completed",
        )
        shown = switchboard(workspace, "runs", "show", first["id"])
        assert (shown.code, "echo made" in shown.out, "made it" in shown.out) == (0, True, True)
        replied = switchboard(workspace, "runs", "reply", first["id"], "Now the tests")
        assert (replied.code, replied.out) == (0, "tested it\n"), replied.err
        # One conversation: the model sees what was said before.
        said = json.dumps(model.conversation)
        assert "make it" in said
        assert "Now the tests" in said
    second, known = listed(workspace)
    assert known["id"] == first["id"]
    assert (second["task"], second["state"]) == ("Now the tests", "completed")
    assert f"continues: {first['id']}\n" in switchboard(workspace, "runs", "show", second["id"]).out
    table = switchboard(workspace, "runs", "list").out.splitlines()
    assert [line.split()[0] for line in table] == ["ID", second["id"], first["id"]]
    assert max(map(len, table)) <= 80
    assert switchboard(workspace, "runs", "--last", "1").out.count("r-") == 1


def test_a_run_is_followed_until_somebody_cancels_it(workspace: Workspace, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with (
        sleeping(workspace, mark) as run_id,
        typed(workspace, "runs", "follow", run_id) as following,
    ):
        cancelled = switchboard(workspace, "runs", "cancel", run_id)
        assert (cancelled.code, cancelled.out) == (0, f"{run_id} cancelled\n"), cancelled.err
        out, _ = following.communicate(timeout=PATIENCE)
        assert following.returncode == 1
        assert f"touch {mark}" in out
        assert "cancelled" in out.splitlines()[-1]
    wait_until_none_mention(str(mark))
    (run,) = listed(workspace)
    assert run["state"] == "cancelled"
    again = switchboard(workspace, "runs", "cancel", run_id)
    assert (again.code, again.out) == (0, f"{run_id} had ended already: cancelled\n"), again.err
    shown = switchboard(workspace, "runs", "show", run_id).out
    assert "cancelled: cancelled" not in shown
    assert "reason:" not in shown


def test_the_end_of_the_daemon_ends_a_run_and_keeps_its_record(
    workspace: Workspace, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    with sleeping(workspace, mark) as run_id:
        assert mentioning(str(mark))
        stopped = switchboard(workspace, "daemon", "stop")
        assert stopped.code == 0, stopped.err
        assert f"it ended 1 run of agents: {run_id}\n" in stopped.out
        assert "not taken up again" in stopped.err
        wait_until_none_mention(str(mark))
    (run,) = listed(workspace)
    # Somebody wanted it to end, which is no crash: `on_crash` has no say.
    assert (run["id"], run["state"]) == (run_id, "cancelled")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "r-unknown"), "r-unknown"),
        (("follow", "r-unknown"), "r-unknown"),
        (("cancel", "r-unknown"), "r-unknown"),
        (("reply", "r-unknown", "more"), "r-unknown"),
        (("steer", "r-unknown", "more"), "r-unknown"),
        (("show",), "needs the id of a run"),
        (("reply", "r-unknown"), "needs a text"),
        (("cancel", "r-unknown", "more"), "takes no text"),
        (("--last", "few"), "must be a whole number"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_to_type(
    workspace: Workspace, words: tuple[str, ...], said: str
) -> None:
    done = switchboard(workspace, "runs", *words)
    assert done.code != 0
    assert said in done.err
    assert done.out == ""
