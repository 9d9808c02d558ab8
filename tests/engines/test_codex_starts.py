"""What makes Codex start faster: homes that are begun already, and spares; and for whom."""

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from engines.codex_stage import CodexStage, codex_stage
from engines.contract import ended, heard
from support.models.script import say, shell
from support.processes import until_true
from switchboard.engines.codex.app_server import AppServer
from switchboard.engines.codex.program import CodexProgram
from switchboard.engines.codex.spare import Spare, Spares
from switchboard.engines.codex.template import HomeTemplates
from switchboard.engines.engine import EngineConversation
from switchboard.engines.events import RawItem
from switchboard.engines.profile import AgentProfile, RunFields

CANARY = "canary-7c2e"


async def one_run(stage: CodexStage, conversation: EngineConversation | None = None) -> int:
    """A whole run; gives the process that it had."""
    conversation = conversation or stage.converse()
    assert ended(await heard(conversation)).status == "completed"
    pid = conversation.pid
    await conversation.aclose()
    return pid


async def a_spare(stage: CodexStage) -> int:
    """The process that waits, once one does."""
    spares = stage.spares
    assert spares is not None
    await until_true(lambda: len(spares.pids) == 1)
    return spares.pids[0]


def template_of(stage: CodexStage) -> Path:
    [template] = (stage.folder / "templates").iterdir()
    return template


def databases(folder: Path) -> list[Path]:
    return files_of(folder, "*.sqlite")


def files_of(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


async def test_a_new_home_begins_with_databases_that_hold_nothing_of_anybody(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        user = stage.user / ".codex"
        (user / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": f"sk-{CANARY}"}))
        settings = (user / "config.toml").read_text()
        stage.config(f'{settings}http_headers = {{ "X" = "{CANARY}" }}\n')
        env = {**stage.env, "GH_TOKEN": CANARY}
        await one_run(stage, stage.converse(env=env))
        await a_spare(stage)
        template = template_of(stage)
        kept = databases(template)
        assert files_of(template, "*") == kept
        # Those of a first conversation, too; and none was left in them.
        assert {path.name.partition("_")[0] for path in kept} >= {"state", "thread"}
        [state] = (path for path in kept if path.name.startswith("state"))
        with closing(sqlite3.connect(state)) as connection:
            assert connection.execute("SELECT count(*) FROM threads").fetchone() == (0,)
        assert [path for path in kept if CANARY.encode() in path.read_bytes()] == []
        assert template.stat().st_mode & 0o077 == 0
        # What is in it is in the home of the next run that has no spare.
        for path in databases(template):
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE TABLE from_the_template (x)")
        spec = stage.spec()
        await one_run(stage, stage.engine.converse(spec, reaper=stage.reaper))
        for path in kept:
            own = Path(spec.folder, "codex", path.name)
            with closing(sqlite3.connect(own)) as connection:
                connection.execute("SELECT * FROM from_the_template")


async def test_a_template_that_is_broken_fails_no_run(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        await one_run(stage)
        await a_spare(stage)
        for path in databases(template_of(stage)):
            path.write_bytes(b"not a database" * 1000)
        # Another environment, so that no spare fits.
        await one_run(stage, stage.converse(env={**stage.env, "OTHER": "1"}))


def make_database(folder: Path) -> None:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "state.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE made (x)")


async def test_a_template_belongs_to_one_program_and_few_are_kept(tmp_path: Path) -> None:
    templates, made = HomeTemplates(str(tmp_path / "templates")), list[str]()
    path = tmp_path / "codex"
    program = CodexProgram(path=str(path))

    async def start(folder: str) -> AppServer:
        made.append(folder)
        make_database(Path(folder))
        return NoServer()

    for version in range(5):
        path.write_text("x" * version)
        await templates.prepare(program, start)
        await templates.prepare(program, start)
        assert len(made) == version + 1
    assert len(list((tmp_path / "templates").iterdir())) == 3
    templates.begin(str(tmp_path / "home"), program)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["state.sqlite"]
    path.write_text("another")
    templates.begin(str(tmp_path / "other"), program)
    assert not (tmp_path / "other").exists()


async def test_a_template_that_cannot_be_made_is_not_tried_again(tmp_path: Path) -> None:
    templates, program = HomeTemplates(str(tmp_path / "t")), CodexProgram(path=__file__)
    tries: list[str] = []

    async def start(folder: str) -> AppServer:
        tries.append(folder)
        raise OSError

    for _ in range(2):
        await templates.prepare(program, start)
    assert len(tries) == 1
    templates.begin(str(tmp_path / "home"), program)
    assert not (tmp_path / "home").exists()


class NoServer(AppServer):
    """A process that has ended already."""

    def __init__(self) -> None:
        pass

    async def request(self, method: str, params: dict[str, Any], *, within_s: float) -> Any:
        del params, within_s
        return {"thread": {"id": "t"}} if method == "thread/start" else {}

    async def aclose(self) -> None:
        """It holds nothing."""


async def test_a_spare_does_what_the_run_says_that_takes_it(tmp_path: Path) -> None:
    steps = [shell("pwd; touch made"), say("all done")]
    async with codex_stage(tmp_path, steps, spares=True) as stage:
        await one_run(stage)
        assert (stage.cwd / "made").exists()
        waiting = await a_spare(stage)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        fields = RunFields(sandbox_mode="read-only", approval_policy="never")
        taken = stage.converse(
            cwd=str(elsewhere),
            profile=AgentProfile(name="other", fields=fields, base_instructions="You look on."),
        )
        assert await one_run(stage, taken) == waiting
        assert str(elsewhere) in stage.model.results[-1]
        assert not (elsewhere / "made").exists()
        assert "You look on." in json.dumps(stage.model.conversation)


async def test_a_spare_is_never_that_of_another_login(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        user = stage.user / ".codex"
        stage.config((user / "config.toml").read_text() + "requires_openai_auth = true\n")
        (user / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "sk-first"}))
        await one_run(stage)
        waiting = await a_spare(stage)
        # In the same file, and as long as the first.
        (user / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": "sk-other"}))
        assert await one_run(stage) != waiting
        # And without any: what the environment says is another login, too.
        (user / "auth.json").unlink()
        for key in ("sk-third", "sk-fourth"):
            env = {**stage.env, "OPENAI_API_KEY": key}
            await one_run(stage, stage.converse(env=env))
        seen = [request.headers["authorization"] for request in stage.model.requests]
    assert seen == [f"Bearer sk-{name}" for name in ("first", "other", "third", "fourth")]


async def test_two_runs_at_once_never_share_a_spare(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        await one_run(stage)
        waiting = await a_spare(stage)
        pids = await asyncio.gather(one_run(stage), one_run(stage))
    assert waiting in pids
    assert len(set(pids)) == 2


class Started(AppServer):
    """A process that nobody needs for real."""

    def __init__(self) -> None:
        self.was_closed = False

    @property
    def pid(self) -> int:
        return 1

    @property
    def is_over(self) -> bool:
        return False

    async def aclose(self) -> None:
        self.was_closed = True


async def test_one_run_waits_for_a_spare_that_begins_and_others_do_not(tmp_path: Path) -> None:
    spares, go, server = Spares(str(tmp_path)), asyncio.Event(), Started()

    async def start(folder: str) -> AppServer:
        del folder
        await go.wait()
        return server

    spares.refill("k", start)
    first = asyncio.ensure_future(spares.take("k"))
    await asyncio.sleep(0)
    assert await spares.take("k") is None
    assert await spares.take("other") is None
    go.set()
    taken = await first
    assert isinstance(taken, Spare)
    assert taken.server is server
    assert await spares.take("k") is None
    await spares.aclose()
    assert not server.was_closed


async def test_who_waits_for_a_spare_that_is_never_there_goes_on(tmp_path: Path) -> None:
    spares = Spares(str(tmp_path))

    async def start(folder: str) -> AppServer:
        raise OSError(folder)

    spares.refill("k", start)
    assert await spares.take("k") is None
    spares.refill("k", start)
    waiting = asyncio.ensure_future(spares.take("k"))
    await asyncio.sleep(0)
    await spares.aclose()
    assert await waiting is None


async def test_codex_asks_nobody_on_the_network_for_plugins(tmp_path: Path) -> None:
    asked, tools = tmp_path / "asked", tmp_path / "tools"
    tools.mkdir()
    git = tools / "git"
    git.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit 1\n')
    git.chmod(0o755)
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        env = {**stage.env, "PATH": f"{tools}:{os.environ['PATH']}"}
        spec = stage.spec(env=env)
        await one_run(stage, stage.engine.converse(spec, reaper=stage.reaper))
        assert files_of(Path(spec.folder, "codex", ".tmp"), "plugins*") == []
    assert "ls-remote" not in (asked.read_text() if asked.exists() else "")


async def test_a_run_with_a_spare_hears_of_no_conversation_but_its_own(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [say("all done")], spares=True) as stage:
        await one_run(stage)
        await a_spare(stage)
        conversation = stage.converse()
        events = await heard(conversation)
        heard_of = {
            thread
            for event in events
            if isinstance(event, RawItem) and (thread := json.loads(event.data).get("threadId"))
        }
        assert heard_of == {conversation.thread_id}
        begun = [event.type for event in events if isinstance(event, RawItem)]
        assert begun.count("thread/started") == 1
        await conversation.aclose()
