"""The small children do what their names say, so that tests built on them mean something."""

import json
import os
import signal
from pathlib import Path

import pytest

from support.mcp_stdio import META, Ended, Framing, RpcError, StdioClient, talking_to, text_of
from support.processes import alive, children_of, mentioning, until_gone
from support.workspace import child_command


async def echoed(client: StdioClient, text: str = "héllo") -> bool:
    return text_of(await client.call("echo", {"text": text})) == f"echo: {text}"


@pytest.mark.parametrize("framing", ["newline", "content-length"])
async def test_the_echo_child_takes_both_framings_and_answers_in_lines(framing: Framing) -> None:
    async with talking_to(child_command("echo_child"), framing=framing) as client:
        await client.initialize()
        assert await echoed(client)
        assert set(client.framings) == {"newline"}
        assert await client.close() == 0


async def test_the_content_length_child_announces_its_bodies() -> None:
    async with talking_to(child_command("content_length_child")) as client:
        await client.initialize()
        assert await echoed(client)
        assert set(client.framings) == {"content-length"}


@pytest.mark.parametrize("habit", ["pretty-content-length", "trickle", "mixed-framing", "paged"])
async def test_odd_but_lawful_children_can_be_used(habit: str) -> None:
    async with talking_to(child_command("misbehaving_child", habit)) as client:
        await client.initialize()
        assert "echo" in await client.tools()
        assert await echoed(client)


async def test_the_mixed_child_uses_both_framings() -> None:
    async with talking_to(child_command("misbehaving_child", "mixed-framing")) as client:
        await client.initialize()
        assert await echoed(client)
        assert set(client.framings) == {"newline", "content-length"}


async def test_garbage_on_stdout_is_kept_as_junk() -> None:
    async with talking_to(child_command("misbehaving_child", "garbage-first")) as client:
        await client.initialize()
        assert await echoed(client)
        assert b"Starting up..." in client.junk


async def test_a_child_that_ends_at_once_is_seen_to_end() -> None:
    async with talking_to(child_command("misbehaving_child", "exit-at-once", "7")) as client:
        assert await client.ended() == 7
        assert "does not want to work" in client.stderr


async def test_a_hanging_child_answers_nothing() -> None:
    async with talking_to(child_command("misbehaving_child", "hang-at-start")) as client:
        with pytest.raises(TimeoutError):
            await client.request("initialize", {}, patience=0.3)


async def test_a_child_that_dies_on_a_tool_ends_the_call() -> None:
    async with talking_to(child_command("misbehaving_child", "dies-on-tool")) as client:
        await client.initialize()
        with pytest.raises(Ended):
            await client.call("die", {})


async def test_an_answer_with_a_wrong_id_answers_nobody() -> None:
    async with talking_to(child_command("misbehaving_child", "wrong-id")) as client:
        await client.initialize()
        with pytest.raises(TimeoutError):
            await client.call("echo", {"text": "hi"}, patience=0.3)
        assert client.messages[-1]["id"] == "nobody-asked"


async def test_the_huge_child_sends_megabytes_on_one_line() -> None:
    async with talking_to(child_command("misbehaving_child", "huge-line")) as client:
        await client.initialize()
        result = await client.call("huge", {"megabytes": 20})
        assert len(text_of(result)) == 20 << 20


async def test_the_changing_child_announces_its_new_tool() -> None:
    async with talking_to(child_command("misbehaving_child", "changing-tools")) as client:
        await client.initialize()
        await client.call("grow", {"name": "leaf"})
        await client.message("notifications/tools/list_changed")
        assert "leaf" in await client.tools()


async def test_the_stubborn_family_survives_sigterm_and_the_end_of_stdin(tmp_path: Path) -> None:
    async with talking_to(
        child_command("misbehaving_child", "stubborn-family", str(tmp_path / "pids"))
    ) as client:
        await client.initialize()
        family = json.loads(text_of(await client.call("family", {})))
        assert json.loads((tmp_path / "pids").read_text()) == family
        assert children_of(client.pid) == [family["grandchild"]]
        client.process.send_signal(signal.SIGTERM)
        with pytest.raises(TimeoutError):
            await client.close(patience=0.3)
        assert client.pid in mentioning(str(tmp_path))
        for pid in family.values():
            assert alive(pid)
            os.kill(pid, signal.SIGKILL)
        await until_gone(family.values())


async def test_the_strict_legacy_child_ends_when_it_is_probed() -> None:
    async with talking_to(child_command("misbehaving_child", "legacy-strict")) as client:
        with pytest.raises(Ended):
            await client.discover()


async def test_the_modern_child_refuses_a_handshake_and_serves_without_one() -> None:
    async with talking_to(child_command("misbehaving_child", "modern-only")) as client:
        with pytest.raises(RpcError) as refused:
            await client.initialize()
        assert refused.value.code == -32022
        found = await client.discover()
        assert found["_meta"][META + "serverInfo"]["name"] == "modern"
        assert await echoed(client)


async def test_the_content_length_only_child_ends_at_a_plain_line() -> None:
    command = child_command("misbehaving_child", "content-length-only")
    async with talking_to(command) as client:
        with pytest.raises(Ended):
            await client.initialize()
    async with talking_to(command, framing="content-length") as client:
        await client.initialize()
        assert await echoed(client)


async def test_a_stalled_call_can_be_cancelled_and_is_remembered() -> None:
    async with talking_to(child_command("echo_child")) as client:
        await client.initialize()
        stalled = client.begin("tools/call", {"name": "stall", "arguments": {}})
        await client.notify("notifications/cancelled", {"requestId": stalled})
        history = json.loads(text_of(await client.call("history", {})))
        assert history["cancelled"] == [stalled]
