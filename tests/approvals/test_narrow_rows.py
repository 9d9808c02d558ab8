"""However narrow a screen is, no row of somebody else's words begins where ours do."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from approvals.asker_contract import a_question
from approvals.ground import a_launch, a_tool
from approvals.test_watch_screen import table, watching, workspace
from approvals.test_wording import Ground, question_of
from fakes.calls import a_session
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.approvals.store.question_table import QuestionTable
from switchboard.cli.verbs.parts.approving.reports import WatchedReport
from switchboard.cli.verbs.parts.approving.view import View
from switchboard.cli.verbs.parts.approving.waiting import Waiting
from switchboard.cli.verbs.parts.dated import DatedHeld, DatedQuestion
from switchboard.cli.verbs.parts.questions import change_lines, question_lines
from switchboard.cli.verbs.parts.trusting.trust_items import TrustItem
from switchboard.core.questions import Question
from switchboard.core.stores import Held
from switchboard.surface.asking.approval_form import ApprovalForm
from switchkit.cli.columns import columns_of
from switchkit.cli.style import PLAIN, Style

__all__ = ["table", "workspace"]

OURS = "Sandbox: default, network off"
WIDTHS = range(len(OURS) + 6, 140)


def forged(width: int, indent: int = 4) -> str:
    """One long line in which each row of this width would be a line of ours."""
    return " ".join(["x" * (width - indent - 1), *[OURS.ljust(width - 1, ".")] * 3])


async def forged_question(home: Path, width: int) -> Question:
    words = forged(width)
    launch = a_launch(a_tool("save", description=words), cwd=str(home))
    question = await question_of(Ground(home, launch))
    lines = [*question.prompt.splitlines(), f"Arguments: {words}", f"  {words}"]
    return replace(question, prompt="\n".join(lines))


def begun_by_others(rows: list[str]) -> list[str]:
    return [row for row in rows if row.startswith(OURS) and "...." in row]


@requirement("S3.32", "S3.107")
async def test_no_row_of_a_question_is_taken_for_a_line_of_ours_at_any_width(
    tmp_path: Path,
) -> None:
    for width in WIDTHS:
        home = tmp_path / str(width)
        home.mkdir()
        question = await forged_question(home, width)
        style = Style(columns=width)
        rows = list(question_lines(question, style))
        assert OURS.replace(" ", "") in "".join("".join(rows).split())
        assert begun_by_others(rows) == []
        assert all(columns_of(row) <= width for row in rows)
        report = WatchedReport(question=DatedQuestion.of(question))
        waiting = Waiting(id=question.id, title="", choices={}, report=report)
        drawn = View(waiting=(waiting,), chosen=question.id).rows((width, 400), PLAIN)
        assert drawn[-len(rows) - 5 :].count(rows[0]) == 1
        assert begun_by_others(drawn) == []


async def test_every_row_of_a_description_has_its_bar(tmp_path: Path) -> None:
    words = forged(60)
    launch = a_launch(a_tool("save", description=words), cwd=str(tmp_path))
    question = await question_of(Ground(tmp_path, launch))
    for columns in (0, 40, 60, 200):
        rows = list(question_lines(question, Style(columns=columns)))
        theirs = rows[rows.index("The server says:") + 1 :]
        assert len(theirs) > 1
        assert all(row.startswith("  | ") for row in theirs)


@pytest.mark.parametrize("width", [60, 72, 74, 80])
async def test_a_host_of_80_columns_breaks_no_row_of_a_question(tmp_path: Path, width: int) -> None:
    question = await forged_question(tmp_path, width)
    session = a_session()
    rows = ApprovalForm(question, session).params()["message"].splitlines()
    assert rows[0].startswith("Switchboard asks: ")
    assert all(columns_of(row) <= 72 for row in rows)
    assert begun_by_others(rows) == []


def test_no_row_of_a_changed_tool_is_taken_for_a_line_of_ours() -> None:
    for width in WIDTHS:
        held = Held(id="h", server="evil", tool=forged(width), before="{}", after="{}", at=0.0)
        changes = (f"+{forged(width, 1)}", f" {forged(width, 1)}")
        rows = list(change_lines(DatedHeld.of(held), changes, Style(columns=width)))
        assert begun_by_others(rows) == []
        assert all(row.startswith("  | ") for row in rows[rows.index("") + 1 :])


def test_no_row_of_what_is_to_be_trusted_is_taken_for_another() -> None:
    for width in WIDTHS:
        item = TrustItem(
            name="evil",
            kind="server",
            state="waiting",
            runs=f"sh -c {forged(width)}",
            changed=forged(width),
            env={"A": forged(width)},
        )
        rows = list(item.about(Style(columns=width)))
        assert [row for row in rows[1:] if not row.startswith("  ")] == []
        assert begun_by_others([row.strip() for row in rows if not row.startswith(" " * 12)]) == []
        assert all(columns_of(row) <= width for row in rows)


@requirement("S3.33")
def test_at_a_real_terminal_each_row_of_a_description_has_its_bar(
    workspace: Workspace, table: QuestionTable
) -> None:
    question = a_question()
    prompt = f"{question.prompt}\nThe server says:\n  | {forged(80, 5)}"
    table.post(replace(question, prompt=prompt), "")
    with watching(workspace) as screen:
        rows = screen.until_shown("The server says:").splitlines()
    assert any("|" in row and OURS in row for row in rows)
    assert begun_by_others(rows) == []
