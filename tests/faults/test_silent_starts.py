"""A server that never greets: who asked is told what it printed instead."""

from pathlib import Path

import pytest

from support.mcp_stdio import talking_to, text_of
from support.workspace import CHECKOUT, Json, Workspace, child_command, server

LIMIT_MS = 1500


def runner(folder: Path, name: str, script: str) -> list[str]:
    """Give a program of this name, which is a shell script that never ends by itself."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\nwhile read -r line; do :; done\n", "utf-8")
    path.chmod(0o755)
    return [str(path), "-y", "some-package"]


async def told(workspace: Workspace, entry: Json) -> tuple[str, Json]:
    """Give what a client reads of this server, and the error in it."""
    workspace.mcp_json({"quiet": {**entry, "rpc_timeout_ms": LIMIT_MS}})
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, patience=30
    ) as client:
        await client.initialize()
        result = await client.call("quiet_suite", {"action": "introspect"})
    assert result["isError"]
    return text_of(result), result["_meta"]["switchboard/error"]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


async def test_text_on_stdout_is_shown_and_named(workspace: Workspace, tmp_path: Path) -> None:
    script = "echo 'Listening on http://localhost:3000'\necho 'ready.'"
    text, error = await told(workspace, server(runner(tmp_path, "start-it", script)))
    assert error["reason"] == "child-start-timeout"
    assert "Listening on http://localhost:3000" in text
    assert "ready." in text
    assert "start-it" in text
    assert "stdout" in text
    assert "rpcTimeoutMs" not in text


async def test_an_error_on_stderr_is_shown(workspace: Workspace, tmp_path: Path) -> None:
    script = "echo 'fatal: the licence has expired' >&2"
    text, _ = await told(workspace, server(runner(tmp_path, "start-it", script)))
    assert "fatal: the licence has expired" in text
    assert "rpcTimeoutMs" not in text


@pytest.mark.parametrize(
    "case",
    [
        ("npx", "npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate", "NODE_EXTRA_CA_CERTS"),
        ("uvx", "invalid peer certificate: UnknownIssuer", "certificate", "SSL_CERT_FILE"),
        ("npx", "npm error code ENOTFOUND", "does not reach its registry", "HTTPS_PROXY"),
        ("npx", "npm error code E404", "does not find the package", "`args`"),
        ("npx", "npm warn EBADENGINE Unsupported engine", "another version of Node", "install"),
    ],
)
@pytest.mark.parametrize("ends", [False, True], ids=["stays", "ends"])
async def test_usual_causes_are_named_with_what_helps(
    workspace: Workspace, tmp_path: Path, case: tuple[str, str, str, str], ends: bool
) -> None:
    name, words, cause, fix = case
    script = f"echo '{words}' >&2" + ("\nexit 1" if ends else "")
    text, _ = await told(workspace, server(runner(tmp_path, name, script)))
    assert cause in text
    assert fix in text
    assert words in text
    assert "rpcTimeoutMs" not in text


async def test_a_mute_server_may_only_be_slow(workspace: Workspace) -> None:
    text, _ = await told(workspace, server(child_command("misbehaving_child", "hang-at-start")))
    assert "printed nothing" in text
    assert "rpcTimeoutMs" in text


async def test_the_bounds_of_a_sandbox_are_named(workspace: Workspace) -> None:
    mute = server(child_command("misbehaving_child", "hang-at-start"))
    bounds = {"memory": "512M", "processes": 20}
    roots = [str(CHECKOUT)]
    entry = {**mute, "sandbox_profile": "default", "limits": bounds, "read_roots": roots}
    text, _ = await told(workspace, entry)
    assert "no network" in text
    assert "memory 512M" in text
    assert "processes 20" in text


async def test_words_in_a_command_belong_into_args(workspace: Workspace) -> None:
    text, error = await told(workspace, {"command": "npx -y foo"})
    assert error["reason"] == "spawn-failed"
    assert 'write "command": "npx", "args": ["-y", "foo"]' in text
