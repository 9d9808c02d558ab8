"""`switchboard agents`: what is found, one agent whole, and everything that is wrong."""

from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard, trust_shown
from support.workspace import CHECKOUT, Workspace
from switchboard.providers.agents.documentation import PAGE as TABLES

PAGE = CHECKOUT / "docs" / "agents.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write(
        ".agents/review.toml",
        'name = "Review"\ndescription = "Reviews"\ntools = ["plan", "files::read"]\n'
        'instructions = "Look twice."\n\n[run]\nmodel = "sonnet"\nsandbox_mode = "read-only"\n'
        'disable_response_storage = true\n\n[mcp_servers.files]\ncommand = "serve"\n'
        'args = ["a b"]\nenv = { TOKEN = "hush" }\n',
    )
    workspace.write(
        ".claude/agents/today.md",
        "---\nname: today\ntools: Bash(git:*), strange\ncolor: red\n---\n",
    )
    workspace.write(".agents/broken.toml", 'name = "broken"\n[run]\nsandbox_mode = "off"\n')
    return workspace


LIST = """\
TOOL          AGENT   ENGINE  MODEL  TRUST        FROM
agent_review  Review  codex   gpt-5  NOT TRUSTED  .agents/review.toml:1
anth_today    today   codex   -      NOT TRUSTED  .claude/agents/today.md:2
"""
SHOW = """\
agent_review
  task, cwd: string — Reviews
  engine: codex
  trust: trusted
  file: .agents/review.toml
  model = "gpt-5"
  model_provider = "openai"
  disable_response_storage = true
  sandbox_mode = "read-only"
  include_plan_tool = true
  tools: plan, files::read
  tools of servers: files::read
  server files: serve 'a b' (sets TOKEN)

Look twice.
"""
CHECK = """\
2 agents can be used
  agent_review
    Model `sonnet` is `gpt-5`, by the map of models.
    Its provider is `openai`, by the map of models.
    `disable_response_storage` has no effect: Codex never stores responses any more
  anth_today
    `color` means nothing to codex, and is ignored.
    No table knows `strange`: a server may have a tool of that name.
    codex does not keep the limits of `Bash(git:*)`.
"""


@pytest.mark.parametrize("words", [(), ("list",)])
def test_the_list_names_what_waits_and_what_is_broken(
    workspace: Workspace, words: tuple[str, ...]
) -> None:
    done = switchboard(workspace, "agents", *words, env=UNTRUSTING)
    assert (done.code, done.out) == (0, LIST)
    assert done.err == (
        "1 file cannot be used\nhint: switchboard agents check\n"
        "hint: look at what would run, then: switchboard trust agent_review anth_today\n"
    )


def test_an_agent_is_shown_as_its_engine_is_told(workspace: Workspace) -> None:
    for name in ("Review", "review", "REVIEW", "agent_review"):
        done = switchboard(workspace, "agents", "show", name)
        assert (done.code, done.out) == (0, SHOW)
        assert "hush" not in done.out + done.err


def test_a_check_tells_every_mistake_with_its_place(workspace: Workspace) -> None:
    done = switchboard(workspace, "agents", "check")
    assert (done.code, done.out) == (1, CHECK)
    assert ".agents/broken.toml:3:1  run.sandbox_mode\n" in done.err
    assert "`sandbox_mode` must be `read-only`, `workspace-write`" in done.err


def test_a_check_says_how_many_agents_wait_for_trust(workspace: Workspace) -> None:
    (workspace.root / ".agents" / "broken.toml").unlink()
    done = switchboard(workspace, "agents", "check", env=UNTRUSTING)
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "2 agents without a mistake; 2 wait for your trust",
    )
    assert done.err.rstrip().endswith("hint: look at what would run: switchboard trust")


def test_programs_read_the_same(workspace: Workspace) -> None:
    listed = switchboard(workspace, "agents", "--json", env=UNTRUSTING).report
    assert [(each["tool"], each["trust"]) for each in listed["agents"]] == [
        ("agent_review", "waiting"),
        ("anth_today", "waiting"),
    ]
    assert listed["broken"] == 1
    shown = switchboard(workspace, "agents", "show", "review", "--json").report
    assert shown["servers"] == [{"name": "files", "runs": "serve 'a b'", "env": ["TOKEN"]}]
    assert shown["run"]["model"] == "gpt-5"
    checked = switchboard(workspace, "agents", "check", "--json").report
    (problem,) = (each for each in checked["problems"] if each["severity"] == "error")
    assert (problem["line"], problem["column"]) == (3, 1)


def test_trust_and_doctor_name_what_waits(workspace: Workspace) -> None:
    done = switchboard(workspace, "trust", "--list", env=UNTRUSTING)
    assert "agent_review" in done.out
    assert "sandbox_mode=read-only" in done.out
    found = switchboard(workspace, "doctor", env=UNTRUSTING)
    assert "switchboard trust agent_review" in found.out + found.err
    assert trust_shown(workspace, "agent_review", env=UNTRUSTING).code == 0
    listed = switchboard(workspace, "agents", "--json", env=UNTRUSTING).report
    assert [each["trust"] for each in listed["agents"]] == ["trusted", "waiting"]


def test_an_agent_that_waits_for_trust_is_not_run(workspace: Workspace) -> None:
    done = switchboard(workspace, "agents", "run", "review", "--task", "x", env=UNTRUSTING)
    assert done.code == 1
    assert "hint: switchboard trust agent_review" in done.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show",), 2, "`NAME` is missing"),
        (("check", "x"), 2, "`agents check` takes no name"),
        (("list", "--task", "x"), 2, "`--task` belongs to `agents run`"),
        (("run", "review"), 2, "`--task` is missing"),
        (("show", "reviw"), 1, "there is no agent `reviw`\n\nhint: did you mean `Review`?"),
        (("show", "todya"), 1, "there is no agent `todya`\n\nhint: did you mean `today`?"),
    ],
)
def test_a_wrong_command_line_says_what_to_type(
    workspace: Workspace, words: tuple[str, ...], code: int, says: str
) -> None:
    done = switchboard(workspace, "agents", *words)
    assert done.code == code
    assert says in done.err


def test_without_agents_the_list_says_how_to_begin(tmp_path: Path) -> None:
    done = switchboard(Workspace(tmp_path), "agents")
    assert (done.code, done.out) == (0, "")
    assert "there are no agents" in done.err


def test_the_page_holds_the_tables_as_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert TABLES.main(["--check", str(PAGE)]) == 0
    stale = tmp_path / "page.md"
    stale.write_text(PAGE.read_text("utf-8").replace("| `GPT-4o` |", "| `GPT-40` |"), "utf-8")
    assert TABLES.main(["--check", str(stale)]) == 1
    assert "not current" in capsys.readouterr().err
    assert TABLES.main([str(stale)]) == 0
    assert stale.read_text("utf-8") == PAGE.read_text("utf-8")
