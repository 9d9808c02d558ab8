"""What a client reads of a failed run, and what only stderr tells."""

import json
from pathlib import Path

import pytest

from support.mcp_stdio import talking_to, text_of
from support.processes import wait_until_none_mention
from support.requirements import requirement
from support.workspace import Workspace

DETAIL = "the-engines-own-words-4711"
# An engine that says something of its own and ends, before or after its handshake.
_ENDS = f"echo {DETAIL} >&2; exit 3"
_ENDS_LATER = (
    f"""read line; echo '{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"{DETAIL}"}}}}'"""
)


@requirement("S0.09", "S0.10", "S0.11")
@pytest.mark.parametrize("script", [_ENDS, _ENDS_LATER])
async def test_the_engines_own_words_go_to_stderr_and_never_to_the_client(
    tmp_path: Path, script: str
) -> None:
    workspace = Workspace(tmp_path)
    args = json.dumps(["-c", script])
    workspace.config_toml(f'[agents.acp.rude]\ncommand = "/bin/sh"\nargs = {args}\n', scope="home")
    folder = workspace.home / "agents"
    folder.mkdir()
    (folder / "one.toml").write_text('name = "one"\nengine = "acp:rude"\n', "utf-8")
    argv = workspace.command("mcp")
    async with talking_to(argv, cwd=workspace.root, env=workspace.env) as client:
        await client.initialize()
        given = {"task": "look", "cwd": str(workspace.root)}
        result = await client.call("agent_one", given, patience=30.0)
        answer = json.loads(text_of(result))
        await client.close()
    assert set(answer) == {"ok", "output"}
    assert answer["ok"] is False
    assert result["isError"] is True
    assert DETAIL not in json.dumps(result)
    assert answer["output"].endswith(".")
    assert DETAIL in client.stderr
    wait_until_none_mention(str(tmp_path))
