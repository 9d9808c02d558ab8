"""Tables of a terminal: none is wider than it, and what matters most is whole."""

import time

import pytest
from msgspec.structs import replace

from cli.commands import on_terminal, switchboard
from support.workspace import Workspace, child_command, server
from switchboard.cli.report import Report
from switchboard.cli.verbs.agents.agents import AgentsReport, ListedAgent
from switchboard.cli.verbs.agents.runs import ListedRun, RunsReport
from switchboard.cli.verbs.calling.calls import CallsReport, ListedCall
from switchboard.cli.verbs.consent.approvals import ApprovalsReport, ListedApproval
from switchboard.cli.verbs.parts.servers import ListedServer
from switchboard.cli.verbs.servers.list import ListReport
from switchboard.cli.verbs.status import StatusReport
from switchboard.control.status import BoardStatus, ChildStatus, little_known
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
SERVER = ListedServer(
    name="filesystem",
    suite="filesystem_suite",
    transport="stdio",
    target=f"npx -y {LONG}",
    scope="home",
    trust="waiting",
    origin=f"/home/somebody/{LONG}/mcp.json:3",
)
TABLES: dict[str, tuple[Report, tuple[str, ...]]] = {
    "runs": (RunsReport(runs=(RUN, RUN)), ("r-7k3m9xw2qd", "completed")),
    "approvals": (ApprovalsReport(approvals=(APPROVAL,)), ("k3f9x2mq", "pending", "high")),
    "list": (ListReport(workspace="/w", servers=(SERVER,)), ("filesys", "NOT TRUSTED")),
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


CHILD = ChildStatus(
    name=LONG,
    scope="workspace",
    workspace="/w",
    session="",
    transport="stdio",
    is_running=False,
    pid=4_000_000,
    age_s=1.0,
    memory_bytes=1 << 30,
    calls=10,
    last_error=LONG,
)


@pytest.mark.parametrize(
    "report",
    [
        ListReport(workspace="/w", servers=(SERVER,)),
        RunsReport(runs=(RUN,)),
        StatusReport(
            is_running=True,
            home="/h",
            daemon=replace(little_known(1, ""), children=(CHILD,)),
        ),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns_and_whole_headings(report: Report) -> None:
    wide = list(report.lines(Style(columns=0)))
    lines = list(report.lines(Style(columns=60)))
    widths = [len(line) + line.count("\N{CJK UNIFIED IDEOGRAPH-6F22}") for line in lines]
    assert max(widths) <= 60
    headings = {line for line in lines if line == line.upper() and line.strip()}
    known = {word for line in wide if line == line.upper() for word in line.split()}
    assert headings
    assert {word for line in headings for word in line.split()} <= known


def test_a_terminal_of_60_columns_shows_a_row_a_line_and_a_pipe_all_of_it(
    workspace: Workspace,
) -> None:
    script = workspace.user_home / "a-folder-with-a-long-name" / "server-of-mine.py"
    command = [*child_command("echo_child"), str(script), "--root", "/srv/a/very/long/path/to/it"]
    workspace.mcp_json({"filesystem": server(command)}, scope="home")
    shown = on_terminal(workspace, "list", env={"NO_COLOR": "1"}, columns=60)
    assert all(len(line) <= 60 for line in shown.splitlines()), shown
    assert "~/.switchboard" in shown
    assert str(workspace.user_home) not in shown
    piped = switchboard(workspace, "list").out
    assert "~/a-folder-with-a-long-name/server-of-mine.py --root /srv/a/very/long/path" in piped
    told = switchboard(workspace, "list", "--json").report["servers"][0]
    assert str(script) in told["target"]


@pytest.mark.parametrize("verb", ["add", "daemon", "logs", "call", "trust"])
def test_help_fits_into_80_columns(workspace: Workspace, verb: str) -> None:
    shown = switchboard(workspace, verb, "--help").out.partition("Examples:")[0]
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_a_failed_call_is_coloured_and_its_subtool_survives_a_narrow_terminal() -> None:
    worst = ListedCall(
        id="b547e99982-10",
        session="b547e99982",
        client="codex-mcp-client 0.166.0",
        tool="write_file",
        suite="everything_suite_read",
        came_at=AT,
        ended_at=AT,
        state="permission_denied",
        queue_s=0.27,
        work_s=1.5,
        human_s=20.7,
        answer="delivered",
    )
    well = replace(worst, state="ok", suite="")
    lines = list(CallsReport(calls=(worst, well)).lines(Style(is_on=True, columns=80)))
    assert "\x1b[31mpermission_denied\x1b[0m" in lines[1]
    assert "\x1b" not in lines[2]
    plain = [line.replace("\x1b[31m", "").replace("\x1b[0m", "") for line in lines[1:]]
    assert all(len(line) <= 80 and "\\x1b" not in line for line in plain), plain
    assert all("write_file" in line for line in plain)
    # What is marked up takes no more room than what is not.
    assert plain[0].index("delivered") == plain[1].index("delivered")


def test_status_says_which_board_a_server_does_not_run_for_and_how_old_an_error_is() -> None:
    board = BoardStatus(
        number=1, workspace="/w", config="", servers=2, tools=2, sessions=1, age_s=1
    )
    other = replace(board, number=2, differs=("LANG", "NO_PROXY"))
    idle = replace(CHILD, name="slow", boards=(1,), last_error="", pid=0)
    apart = replace(idle, boards=(2,), apart=other.differs, is_running=True, pid=7)
    also = replace(apart, name="memory", pid=8)
    part = replace(apart, name="github", apart=("LANG",), pid=9)
    failed = replace(part, apart=(), last_error="it went", last_error_at=time.time() - 130)
    children = (idle, apart, also, part, failed)
    daemon = replace(little_known(1, ""), boards=(board, other), children=children)
    lines = list(StatusReport(is_running=True, home="/h", daemon=daemon).lines(Style(columns=0)))
    assert "not running for board 1: slow" in lines
    processes = "slow, memory of board 2 have processes of their own"
    assert f"{processes} for the same reason" in lines
    assert "github of board 2 has a process of its own because of LANG" in lines
    assert any(line.endswith("2 min ago: it went") for line in lines)
    assert sum("NO_PROXY" in line for line in lines) == 1


def test_status_names_few_of_many_variables_that_keep_a_server_apart() -> None:
    board = BoardStatus(
        number=1, workspace="/w", config="", servers=1, tools=1, sessions=1, age_s=1
    )
    many = tuple(f"CERT_{number}" for number in range(13))
    child = replace(CHILD, name="far", boards=(1,), apart=many, last_error="")
    daemon = replace(little_known(1, ""), boards=(board,), children=(child,))
    lines = list(StatusReport(is_running=True, home="/h", daemon=daemon).lines(Style(columns=0)))
    told = "because of CERT_0, CERT_1, CERT_2, CERT_3 and 9 more"
    assert any(line.endswith(told) for line in lines)


def test_status_tells_the_whole_reason_of_a_failure_and_where_more_of_it_is() -> None:
    reason = "it ended before it answered: " + "a long reason " * 10 + "and its end"
    failed = replace(CHILD, name="github", is_running=False, pid=0, last_error=reason)
    daemon = replace(little_known(1, ""), children=(failed,))
    report = StatusReport(is_running=True, home="/h", daemon=daemon, is_verbose=True)
    assert any(reason in line for line in report.lines(Style(columns=0)))
    notes = list(report.notes(Style(columns=80)))
    assert any(reason in note for note in notes)
    assert "hint: switchboard logs github" in notes
