"""Tables of a terminal: none is wider than it, and what matters most is whole."""

import pytest

from switchboard.cli.report import Report
from switchboard.cli.verbs.agents import AgentsReport, ListedAgent
from switchboard.cli.verbs.approvals import ApprovalsReport, ListedApproval
from switchboard.cli.verbs.runs import ListedRun, RunsReport
from switchkit.cli.style import Style

LONG = "a sentence that goes on and on, with \N{CJK UNIFIED IDEOGRAPH-6F22} in it, " * 4
AT = "2026-01-02T03:04:05.000000Z"
RUN = ListedRun(
    id="r-7k3m9xw2qd",
    agent=f"reviewer-{LONG}",
    engine="acp:opencode",
    state="completed",
    task=LONG,
    workspace=f"/{LONG}",
    created_at=AT,
    doing=LONG,
)
APPROVAL = ListedApproval(
    id="k3f9x2mq",
    kind="call",
    state="pending",
    tool=LONG,
    of=LONG,
    what=LONG,
    risk="high",
    client=LONG,
    asked_at=AT,
    expires_at=AT,
)
AGENT = ListedAgent(
    tool="agent_reviewer",
    name=LONG,
    format="codex",
    engine="acp:opencode",
    trust="waiting",
    origin=f".agents/{LONG}.toml:1",
    model=LONG,
)
TABLES: dict[str, tuple[Report, tuple[str, ...]]] = {
    "runs": (RunsReport(runs=(RUN, RUN)), ("r-7k3m9xw2qd", "completed")),
    "approvals": (ApprovalsReport(approvals=(APPROVAL,)), ("k3f9x2mq", "pending", "high")),
    "agents": (AgentsReport(workspace="/w", agents=(AGENT,)), ("agent_reviewer", "NOT TRUSTED")),
}


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_into_the_terminal(name: str, columns: int) -> None:
    report, whole = TABLES[name]
    lines = list(report.lines(Style(columns=columns)))
    # The sign takes two columns.
    widths = [len(line) + line.count("\N{CJK UNIFIED IDEOGRAPH-6F22}") for line in lines]
    assert max(widths) <= columns
    # All of it is used.
    assert max(widths) >= columns - 2
    for cell in whole:
        assert all(cell in line for line in lines[1:])
    assert "\N{HORIZONTAL ELLIPSIS}" in lines[1]


def test_short_cells_are_not_stretched() -> None:
    short = ListedRun(
        id="r-1",
        agent="a",
        engine="codex",
        state="working",
        task="tidy",
        workspace="/w",
        created_at=AT,
    )
    lines = list(RunsReport(runs=(short,)).lines(Style(columns=120)))
    assert max(map(len, lines)) < 60
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(lines)
