"""What the real Codex may see and run: nothing of an untrusted folder, and no secret in a shell."""

import json
from pathlib import Path

import pytest

from engines.codex_stage import ASKING, FIELDS, codex_stage
from engines.contract import ended, heard, next_of, up_the_chain
from support.models.script import say, shell, use
from support.workspace import NODE_MODULES, child_command
from switchboard.engines.engine import Reply
from switchboard.engines.events import Form, Permission, ToolItem, TurnEnded
from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields

CANARY = "canary-4f1d"
MEMORY = AttachedServer(name="mem.ory", command=str(NODE_MODULES / ".bin/mcp-server-memory"))


async def test_instructions_of_an_untrusted_workspace_still_reach_the_model_as_text(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        (stage.cwd / ".git").mkdir()
        (stage.cwd / "sub").mkdir()
        (stage.cwd / "AGENTS.md").write_text("Speak like a pirate.")
        (stage.cwd / "sub" / "AGENTS.md").write_text("And wear a hat.")
        (tmp_path / "AGENTS.md").write_text("Of another repository.")
        (stage.user / ".codex" / "AGENTS.md").write_text("The user likes short answers.")
        profile = AgentProfile(name="t", developer_instructions="You review code.", fields=FIELDS)
        conversation = stage.converse(cwd=str(stage.cwd / "sub"), profile=profile)
        await heard(conversation)
        await conversation.aclose()
        said = json.dumps(stage.model.conversation["input"])
    wanted = ["You review code.", "short answers", "like a pirate", "wear a hat"]
    places = [said.find(words) for words in wanted]
    assert places == sorted(places), places
    assert -1 not in places
    assert "Of another repository" not in said


async def test_no_secret_of_the_environment_reaches_a_shell_of_the_model(tmp_path: Path) -> None:
    names = ("OPENAI_API_KEY", "GH_TOKEN", "my_secret", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY")
    secrets = dict.fromkeys(names, CANARY)
    show = "git config --list; env"
    steps = [shell(show), shell(show, **ASKING), say("all done")]
    async with codex_stage(tmp_path, steps) as stage:
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "x.y", "GIT_CONFIG_VALUE_0": CANARY}
        conversation = stage.converse(env={**stage.env, **secrets, **git, "OF_A_PROVIDER": CANARY})
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        sandboxed, free = stage.model.results
    for seen in (sandboxed, free):
        assert "HOME=" in seen
        assert CANARY not in seen
        assert "fatal" not in seen


def _is_link(link: Path, target: Path) -> bool:
    return link.is_symlink() and link.readlink() == target


def _holds(path: Path, text: str) -> bool:
    return text.encode() in path.read_bytes()


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


async def test_the_login_is_used_where_it_is_and_a_key_of_a_provider_is_not_written_down(
    tmp_path: Path,
) -> None:
    async with codex_stage(tmp_path, [shell("env"), say("all done")]) as stage:
        own = stage.user / ".codex"
        (own / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": f"sk-{CANARY}"}))
        text = (own / "config.toml").read_text()
        stage.config(
            f'{text}\nexperimental_bearer_token = "{CANARY}-bearer"\n'
            f'http_headers = {{ "X-Gate" = "{CANARY}-header" }}\n'
            '[mcp_servers.users_own]\ncommand = "/no/such/server"\nrequired = true\n'
        )
        spec = stage.spec()
        conversation = stage.engine.converse(spec, reaper=stage.reaper)
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        headers = {key.lower(): value for key, value in stage.model.requests[0].headers.items()}
        assert headers["authorization"] == f"Bearer {CANARY}-bearer"
        assert headers["x-gate"] == f"{CANARY}-header"
        assert CANARY not in stage.model.results[0]
        assert _is_link(Path(spec.folder, "codex", "auth.json"), own / "auth.json")
        found = [path for path in files_below(Path(spec.folder)) if _holds(path, CANARY)]
    assert found == []


async def test_a_server_takes_no_module_from_the_folder_of_the_task(tmp_path: Path) -> None:
    start, marker = tmp_path / "start", tmp_path / "it-ran"
    start.mkdir()
    server = AttachedServer(
        name="mod", command="python3", args=("-m", "mod"), start_in=str(start), required=False
    )
    async with codex_stage(tmp_path, [say("all done")]) as stage:
        (stage.cwd / "mod.py").write_text(f"open({str(marker)!r}, 'w')\n")
        profile = AgentProfile(name="t", fields=FIELDS, servers=(server,))
        conversation = stage.converse(profile=profile)
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        assert not marker.exists()
        (start / "mod.py").write_text(f"open({str(marker)!r}, 'w')\n")
        again = stage.converse(profile=profile)
        await heard(again)
        await again.aclose()
    assert marker.exists()


async def test_shells_see_what_commands_need_and_how_deep_they_stand(tmp_path: Path) -> None:
    async with codex_stage(tmp_path, [shell("env"), say("all done")]) as stage:
        env = {
            **stage.env,
            "OF_A_PROVIDER": CANARY,
            "HTTPS_PROXY": f"http://user:{CANARY}@localhost:1",
            "NO_PROXY": "localhost,127.0.0.1",
            "SWITCHBOARD_DEPTH": "3",
        }
        conversation = stage.engine.converse(stage.spec(env=env), reaper=stage.reaper)
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        [seen] = stage.model.results
    assert CANARY not in seen
    assert "SWITCHBOARD_DEPTH=3" in seen
    assert "NO_PROXY=" in seen


async def test_a_key_of_the_environment_logs_in_and_is_written_nowhere(tmp_path: Path) -> None:
    looks = shell(up_the_chain(), **ASKING)
    async with codex_stage(tmp_path, [looks, say("all done")]) as stage:
        stage.config(f'model = "gpt-5.5"\nopenai_base_url = "{stage.model.url}/v1"\n')
        spec = stage.spec(env={**stage.env, "OPENAI_API_KEY": f"sk-{CANARY}"})
        conversation = stage.engine.converse(spec, reaper=stage.reaper)
        assert ended(await heard(conversation)).text == "all done"
        await conversation.aclose()
        headers = {key.lower(): value for key, value in stage.model.requests[0].headers.items()}
        assert headers["authorization"] == f"Bearer sk-{CANARY}"
        found = [path for path in files_below(tmp_path) if _holds(path, CANARY)]
        [above] = stage.model.results
    assert found == []
    # Nor can a shell that nothing confines read it in what it came of.
    assert "CODEX_HOME=" in above
    assert CANARY not in above


async def test_a_tool_of_a_server_that_may_write_is_asked_for_and_one_that_reads_is_not(
    tmp_path: Path,
) -> None:
    steps = [use("read_graph"), use("create_entities", entities=[]), say("all done")]
    async with codex_stage(tmp_path, steps) as stage:
        stored = tmp_path / "graph.json"
        server = AttachedServer(
            name=MEMORY.name, command=MEMORY.command, env={"MEMORY_FILE_PATH": str(stored)}
        )
        conversation = stage.converse(
            profile=AgentProfile(name="t", fields=FIELDS, servers=(server,))
        )
        events = await heard(conversation)
        await conversation.aclose()
    asked = [event for event in events if isinstance(event, Permission)]
    assert [(event.kind, event.subject) for event in asked] == [("tool", "mem_ory/create_entities")]
    assert json.loads(asked[0].detail) == {"entities": []}
    tools = [event.tool for event in events if isinstance(event, ToolItem)]
    assert tools == ["read_graph", "read_graph", "create_entities", "create_entities"]
    assert stored.exists()


async def test_a_declined_tool_is_not_called_and_the_turn_goes_on(tmp_path: Path) -> None:
    steps = [use("create_entities", entities=[]), say("then not")]
    async with codex_stage(tmp_path, steps) as stage:
        stored = tmp_path / "graph.json"
        server = AttachedServer(
            name="memory", command=MEMORY.command, env={"MEMORY_FILE_PATH": str(stored)}
        )
        conversation = stage.converse(
            profile=AgentProfile(name="t", fields=FIELDS, servers=(server,))
        )
        assert ended(await heard(conversation, verdict="decline")).text == "then not"
        await conversation.aclose()
    assert not stored.exists()


async def test_a_question_of_a_server_becomes_a_form_and_its_answer_goes_back(
    tmp_path: Path,
) -> None:
    command, *args = child_command("frank_child", "handshake", "frank")
    server = AttachedServer(name="frank", command=command, args=tuple(args))
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    params = {"message": "Who are you?", "requestedSchema": schema}
    questions = {"who": {"method": "elicitation/create", "params": params}}
    steps = [use("ask", questions=questions), say("all done")]
    async with codex_stage(tmp_path, steps) as stage:
        conversation = stage.converse(
            profile=AgentProfile(name="t", fields=FIELDS, servers=(server,))
        )
        turn = conversation.turn("Please do as the script says.")
        asked = await next_of(turn, Permission)
        await conversation.answer(asked.request_id, Reply(verdict="accept"))
        form = await next_of(turn, Form)
        assert (form.server, form.message) == ("frank", "Who are you?")
        assert json.loads(form.schema)["type"] == "object"
        await conversation.answer(form.request_id, Reply(verdict="accept", content={"name": "Ada"}))
        assert (await next_of(turn, TurnEnded)).text == "all done"
        await conversation.aclose()
        assert "Ada" in stage.model.results[0]


@pytest.mark.parametrize("key", ["projects", "shell_environment_policy.inherit", "notify"])
async def test_an_agent_may_not_say_what_is_trusted_or_what_shells_see(
    tmp_path: Path, key: str
) -> None:
    async with codex_stage(tmp_path, [say("never")]) as stage:
        conversation = stage.converse(profile=AgentProfile(name="t", config={key: "x"}))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "configuration-refused"


async def test_servers_that_codex_would_confuse_are_refused(tmp_path: Path) -> None:
    twins = tuple(AttachedServer(name=name, command="true") for name in ("a.b", "a-b"))
    async with codex_stage(tmp_path, [say("never")]) as stage:
        conversation = stage.converse(profile=AgentProfile(name="t", servers=twins))
        last = ended(await heard(conversation))
        await conversation.aclose()
    assert last.failure is not None
    assert last.failure.kind == "configuration-refused"
    assert "a_b" in last.failure.private


PATCH = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch"


async def test_a_patch_where_nothing_may_be_written_is_asked_for_with_all_of_it(
    tmp_path: Path,
) -> None:
    async with codex_stage(
        tmp_path, [shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"), say("all done")]
    ) as stage:
        fields = RunFields(sandbox_mode="read-only", approval_policy="on-request")
        conversation = stage.converse(profile=AgentProfile(name="t", fields=fields))
        turn = conversation.turn("Please do as the script says.")
        asked = await next_of(turn, Permission)
        assert asked.kind == "patch", asked
        assert asked.subject.endswith("made.txt")
        assert "hello" in asked.detail
        await conversation.answer(asked.request_id, Reply(verdict="decline"))
        await next_of(turn, TurnEnded)
        await conversation.aclose()
        assert not (stage.cwd / "made.txt").exists()
