"""A first start on a terminal: which server, how far it has come, and for how long."""

import re
import sys

import pytest

from cli.commands import on_terminal, switchboard
from support.workspace import CHILDREN, Workspace, server

# Answers late; a start is under way until then.
LATE = f"""#!{sys.executable}
import sys, time
time.sleep(2.5)
sys.path.insert(0, {str(CHILDREN)!r})
from common_tools import common_server
common_server("late").run()
"""


@pytest.fixture
def late(either_workspace: Workspace) -> Workspace:
    workspace = either_workspace
    # Named like the runner whose downloads everybody waits for.
    npx = workspace.user_home / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(LATE, "utf-8")
    npx.chmod(0o755)
    plain = workspace.user_home / "bin" / "late"
    plain.write_text(LATE, "utf-8")
    plain.chmod(0o755)
    workspace.env["PATH"] = f"{npx.parent}:{workspace.env['PATH']}"
    workspace.mcp_json(
        {"fetched": server(["npx", "-y", "late"]), "late": server([plain])}, scope="home"
    )
    return workspace


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        (("introspect", "late"), r"late: started; it has not answered the greeting yet, [1-9] s"),
        (("call", "fetched", "echo", "text=x"), r"fetched: started; npx downloads .*, [1-9] s"),
        (("doctor", "--deep"), r"(fetched|late): started; .*, [1-9] s"),
    ],
)
def test_a_person_sees_what_they_wait_for(
    late: Workspace, words: tuple[str, ...], stage: str
) -> None:
    shown = on_terminal(late, *words, env={"TERM": "xterm", "NO_COLOR": "1"}, columns=100)
    assert re.search(stage, shown), shown
    # It is gone when the answer is there.
    assert "downloads" not in shown.rpartition("\x1b[K")[2]


def test_a_pipe_gets_the_answer_alone(late: Workspace) -> None:
    assert switchboard(late, "call", "late", "echo", "text=x") == (0, "echo: x\n", "")
