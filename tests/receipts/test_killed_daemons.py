"""What a daemon that is killed takes along, and what it does not."""

import asyncio
import os
import signal

from receipts.ground import Post, Rude, asked, begin, call, client_of, repeats, said
from support.daemons import daemon_pid
from support.processes import until_gone, until_true
from support.workspace import server


async def kill(post: Post) -> None:
    pid = daemon_pid(post.workspace)
    os.kill(pid, signal.SIGKILL)
    await until_gone([pid])


async def test_an_answer_that_was_sent_and_not_read_is_there_for_both(post: Post) -> None:
    """For the client, who reads on, and for the person who looks."""
    post.answer()
    client = Rude(post)
    await client.answer()
    client.begin("tools/call", call())
    (sent,) = await post.until_answers("sent")
    await kill(post)
    assert (await post.type("result", sent.id)).out == "posted: a\n"
    result = (await client.answer())["result"]
    assert result["content"][0]["text"] == "posted: a"
    # It has been read, as far as anybody knows: sent again it is another call.
    client.begin("tools/call", call())
    assert repeats((await client.answer())["result"]) == ""
    assert post.done == ["post a", "post a"]
    await client.leave()


async def test_what_is_not_read_within_a_moment_is_on_disk_though_nobody_asked(post: Post) -> None:
    post.answer()
    client = Rude(post)
    await client.answer()
    client.begin("tools/call", call())
    await post.until_kept()
    await kill(post)
    assert (await post.type("result", post.kept[0].stem)).out == "posted: a\n"
    assert (await client.answer())["result"]["content"][0]["text"] == "posted: a"
    await client.leave()


async def test_an_answer_that_was_read_leaves_nothing_on_disk(post: Post) -> None:
    post.answer()
    client = Rude(post)
    await client.answer()
    client.begin("tools/call", call())
    await post.until_kept()
    await client.answer()
    await until_true(lambda: post.kept == [], 60)
    await post.until_answers("delivered")
    await client.leave()


async def test_the_daemon_says_goodbye_and_keeps_what_was_not_read(post: Post) -> None:
    post.answer()
    client = Rude(post)
    await client.answer()
    client.begin("tools/call", call())
    (sent,) = await post.until_answers("sent")
    post.workspace.stop_daemon()
    assert (await post.type("result", sent.id)).out == "posted: a\n"
    await client.leave()


async def test_calls_of_an_earlier_daemon_are_told_by_the_audit_log(post: Post) -> None:
    post.workspace.config_toml('guard = true\n[approvals]\nallow = ["post.*"]\n', scope="home")
    post.answer("a")
    async with client_of(post) as client:
        assert await said(client, begin(client, text="a")) == "posted: a"
        begin(client, text="b")
        await post.until_done("post a", "post b")
        first, second = post.calls()
        await kill(post)
    # Without a daemon, and with the next one.
    for _ in range(2):
        calls = (await post.type("calls", "--json")).report["calls"]
        assert [(each["id"], each["state"]) for each in calls if each["tool"] == "post"] == [
            (first.id, "ok"),
            (second.id, "unknown"),
        ]
        (open_,) = (await post.type("calls", "--undelivered", "--json")).report["calls"]
        assert (open_["id"], open_["suite"], open_["answer"]) == (second.id, "post_suite", "lost")
        assert (await post.type("calls", "--running", "--json")).report["calls"] == []
        shown = await post.type("calls")
        assert "there may or may not have been an effect" in shown.err
        assert f"switchboard audit show {second.id}" in shown.err
        ended = await post.type("result", first.id)
        assert f"call `{first.id}` of `post` ended with `ok`" in ended.err
        async with client_of(post) as client:
            assert "post_suite" in await client.tools()


async def test_a_call_whose_question_was_open_is_told_not_to_have_run(post: Post) -> None:
    post.workspace.config_toml("guard = true\n", scope="home")
    async with client_of(post) as client:
        begin(client, text="a")
        await asked(post)
        (waiting,) = await post.until_calls("waiting")
        # Already while it waits, under its own name.
        assert (waiting.suite, waiting.tool) == ("post_suite", "post")
        # Records are written in groups.
        async with asyncio.timeout(30):
            while "approval.requested" not in (await post.type("audit", "show", waiting.id)).out:
                pass
        await kill(post)
    calls = (await post.type("calls", "--json")).report["calls"]
    assert [(each["id"], each["tool"], each["state"]) for each in calls] == [
        (waiting.id, "post", "not run")
    ]
    told = await post.type("result", waiting.id)
    assert "was not run: its daemon ended while a person was asked" in told.err
    assert post.done == []


async def test_what_commands_asked_suites_themselves_is_shown_to_who_wants_it(post: Post) -> None:
    post.answer()
    async with client_of(post) as client:
        assert await said(client, begin(client, text="a")) == "posted: a"
        assert (await post.type("introspect", "post")).code == 0
        shown = (await post.type("calls", "--json")).report["calls"]
        assert [each["tool"] for each in shown] == ["post"]
        whole = (await post.type("calls", "--own", "--json")).report["calls"]
        assert [each["tool"] for each in whole] == ["post", "post_suite"]


async def test_a_missing_program_is_told_by_its_reason(post: Post) -> None:
    post.workspace.mcp_json({"gone": server(["/no/such/program"])})
    async with client_of(post):
        assert (await post.type("call", "gone", "look")).code != 0
        (gone,) = (await post.type("calls", "--json")).report["calls"]
        assert (gone["state"], gone["reason"]) == ("internal", "spawn-failed")
        assert "spawn-failed" in (await post.type("calls")).out


async def test_a_new_daemon_says_since_when_it_keeps_what_servers_print(post: Post) -> None:
    post.answer("a")
    async with client_of(post) as client:
        assert await said(client, begin(client, text="a")) == "posted: a"
    post.workspace.stop_daemon()
    async with client_of(post) as client:
        assert "post_suite" in await client.tools()
        shown = await post.type("logs", "post", "-n", "5")
    assert shown.code == 0, shown.err
    assert "it has been running since 2" in shown.err
    assert "daemon" in shown.err.partition("how they ended is in ")[2].splitlines()[0]
