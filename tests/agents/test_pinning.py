"""Where agents of a session may work that is pinned to a project, by whichever way it is (X13)."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agents.ground import AgentBoard, board
from cli.commands import switchboard
from fakes.engines import Hangs, Says
from support.endpoints import serving
from support.mcp_stdio import talking_to, text_of
from support.requirements import requirement
from support.workspace import Workspace
from switchboard.core.sessions import Session
from switchboard.engines.profile import AttachedServer

OUTSIDE = "cwd-outside-project"


def a_session(*, is_pinned: bool = True) -> Session:
    return Session(id="session", via="stdio", workspace="/workspace", is_pinned=is_pinned)


@pytest.fixture
def project(home: Path) -> Path:
    """A project with a folder, a file and ways out, and another one beside it."""
    made = home / "project"
    (made / "part").mkdir(parents=True)
    (made / "a-file").touch()
    for other in ("elsewhere", "project-2"):
        (home / other).mkdir()
    (made / "out").symlink_to(home / "elsewhere")
    (made / "in").symlink_to(made / "part")
    (made / "nowhere").symlink_to(made / "missing")
    return made


PLACES = [
    ("{project}", ""),
    ("{project}/part", ""),
    ("{project}/in", ""),
    ("{project}/part/..", ""),
    ("part", "cwd-not-absolute"),
    ("", "cwd-not-absolute"),
    ("{project}/missing", "cwd-missing"),
    ("{project}/nowhere", "cwd-missing"),
    ("{project}/a-file", "cwd-not-a-folder"),
    ("{project}/a-file/x", "cwd-missing"),
    ("{project}/out", OUTSIDE),
    ("{project}/..", OUTSIDE),
    ("{project}/part/../../elsewhere", OUTSIDE),
    ("{project}-2", OUTSIDE),
    ("/", OUTSIDE),
]


@requirement("S0.06")
@pytest.mark.parametrize(("place", "reason"), PLACES)
@pytest.mark.parametrize("how", ["board", "session"])
async def test_a_pinned_session_works_in_its_project_alone(
    home: Path, project: Path, place: str, reason: str, how: str
) -> None:
    given = {"task": "look", "cwd": place.format(project=project)}
    pinned = {"root": str(project)} if how == "board" else {"workspace": str(project)}
    async with board(home, Says("done"), **pinned) as desk:
        session = a_session(is_pinned=how == "session")
        if reason:
            assert (await desk.refusal("reviewer", given, session=session)).reason == reason
            assert not desk.runs.runs
        else:
            assert not (await desk.outcome("reviewer", given, session=session)).is_error
            assert Path(desk.conversation.spec.cwd).is_relative_to(project)


async def test_a_session_that_nobody_pinned_works_wherever_there_is_a_folder(
    home: Path, project: Path
) -> None:
    async with board(home, Says("done"), workspace=str(project)) as desk:
        given = {"task": "look", "cwd": str(project / "out")}
        session = a_session(is_pinned=False)
        assert not (await desk.outcome("reviewer", given, session=session)).is_error
        assert desk.conversation.spec.cwd == str(home / "elsewhere")


async def test_the_tools_of_codex_are_pinned_as_agents_are(home: Path, project: Path) -> None:
    async with board(home, Says("done"), workspace=str(project)) as desk:
        given = {"prompt": "look", "cwd": str(home / "elsewhere")}
        fault = await desk.refusal("codex", given, session=a_session())
        assert fault.reason == OUTSIDE


async def left_outside(desk: AgentBoard, home: Path, tool: str = "reviewer") -> Any:
    """Have a session that is not pinned give a task outside of the project."""
    given = {"prompt" if tool == "codex" else "task": "look", "cwd": str(home / "elsewhere")}
    return await desk.outcome(tool, given, session=a_session(is_pinned=False))


async def test_a_pinned_session_goes_on_with_no_run_outside_of_its_project(
    home: Path, project: Path
) -> None:
    async with board(home, Says("done"), Hangs(), workspace=str(project), patience=1) as desk:
        await left_outside(desk, home)
        run_id = desk.run.id
        more = {"run_id": run_id, "task": "more"}
        assert (await desk.refusal("run_reply", more, session=a_session())).reason == OUTSIDE
        await left_outside(desk, home, "codex")
        [hanging] = [run.id for run in desk.runs.runs.values() if run.id != run_id]
        more = {"run_id": hanging, "text": "more"}
        assert (await desk.refusal("run_steer", more, session=a_session())).reason == OUTSIDE
        # What is done already may be read.
        await desk.outcome("run_status", {"run_id": run_id}, session=a_session())


async def test_a_thread_of_codex_outside_of_the_project_is_not_gone_on_with(
    home: Path, project: Path
) -> None:
    async with board(home, Says("done"), workspace=str(project)) as desk:
        await left_outside(desk, home, "codex")
        more = {"prompt": "more", "threadId": desk.run.thread_id}
        assert (await desk.refusal("codex-reply", more, session=a_session())).reason == OUTSIDE


async def test_a_run_that_waited_is_held_to_the_project_of_who_gave_it(
    home: Path, project: Path
) -> None:
    """Between a call and its run, whoever works there may swap a folder for a link."""
    async with board(home, Hangs(), Says("done"), workspace=str(project), patience=1) as desk:
        given = {"task": "look", "cwd": str(project / "part")}
        await desk.outcome("reviewer", given, session=a_session())
        run = desk.run
        assert run.spec.root == str(project)
        await desk.outcome("run_cancel", {"run_id": run.id})
        (project / "part").rename(home / "elsewhere" / "part")
        (project / "part").symlink_to(home / "elsewhere" / "part")
        # An older run whose folder lies elsewhere now is not begun, whoever takes it.
        moved = replace(run.spec, cwd=str(home / "elsewhere" / "part"), request_key="other")
        later = await desk.runs.start(moved)
        ended = await desk.runs.wait(later.id, within_s=10, tell=lambda _: None)
        assert ended.state == "failed"
        assert len(desk.engine.conversations) == 1


async def test_agents_that_an_agent_calls_are_held_to_the_same_project(
    home: Path, project: Path
) -> None:
    servers = (
        AttachedServer(name="own", command="switchboard", args=("mcp",)),
        AttachedServer(name="other", command="python3", args=("-m", "memory")),
    )
    async with board(home, Says("done"), workspace=str(project), servers=servers) as desk:
        given = {"task": "look", "cwd": str(project)}
        for is_pinned in (True, False):
            await desk.outcome("reviewer", given, session=a_session(is_pinned=is_pinned))
            own, other = desk.conversation.spec.profile.servers
            assert own.env.get("WORKSPACE_DIR") == (str(project) if is_pinned else None)
            assert "WORKSPACE_DIR" not in other.env


def with_an_agent(workspace: Workspace, settings: str = "") -> None:
    """Have an agent whose engine ends at once: only the way to it counts here."""
    engine = '[agents.acp.none]\ncommand = "/bin/false"\n'
    workspace.config_toml(f"{settings}{engine}", scope="home")
    (workspace.home / "agents").mkdir()
    (workspace.home / "agents" / "one.toml").write_text('name = "one"\nengine = "acp:none"\n')


WAYS: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "nothing": ((), {}, ""),
    "the flag": (("--workspace", "."), {}, ""),
    "the variable": ((), {"WORKSPACE_DIR": "."}, ""),
    "the setting": ((), {}, "[agents]\nstay_in_workspace = true\n"),
}


@pytest.mark.parametrize("is_in_process", [False, True], ids=["daemon", "in-process"])
@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_name_a_project_pins_the_session_to_it(
    workspace: Workspace, tmp_path: Path, way: str, is_in_process: bool
) -> None:
    flags, variables, settings = WAYS[way]
    with_an_agent(workspace, settings)
    env = {**workspace.env, **variables}
    if is_in_process:
        env["SWITCHBOARD_IN_PROCESS"] = "1"
    argv = workspace.command("mcp", *flags)
    async with talking_to(argv, cwd=workspace.root, env=env) as client:
        await client.initialize()
        told: dict[str, bool] = {}
        for place in (workspace.root, tmp_path):
            given = {"task": "look", "cwd": str(place)}
            answer = json.loads(text_of(await client.call("agent_one", given, patience=30)))
            assert answer["ok"] is False
            told[place.name] = "pinned to" in answer["output"]
    assert told == {workspace.root.name: False, tmp_path.name: way != "nothing"}


def test_a_command_that_names_its_workspace_is_pinned_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    with_an_agent(workspace)
    words = ("agents", "run", "one", "--task", "look", "--cwd", str(tmp_path))
    free = switchboard(workspace, *words)
    assert "pinned to" not in free.err
    pinned = switchboard(workspace, "--workspace", str(workspace.root), *words)
    assert "pinned to" in pinned.err, pinned.err


async def test_clients_over_http_are_pinned_by_who_serves_them(
    workspace: Workspace, tmp_path: Path
) -> None:
    with_an_agent(workspace)
    given = {"task": "look", "cwd": str(tmp_path)}
    told: list[bool] = []
    for words in ((), ("--workspace", str(workspace.root))):
        async with serving(workspace, *words) as endpoint:
            result = await endpoint.call_tool("agent_one", given)
            told.append("pinned to" in text_of(result))
    assert told == [False, True]
