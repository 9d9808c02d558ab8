"""A call that writes, sent again before its answer was delivered, runs once."""

import os
import signal
from pathlib import Path

import pytest

from receipts.ground import (
    TIMED_OUT,
    Post,
    Rude,
    approved,
    begin,
    call,
    client_of,
    left_behind,
    repeats,
)
from support.daemons import daemon_pid
from support.mcp_stdio import Json, StdioClient, text_of
from support.processes import until_gone, until_true

ERAS = ("handshake", "modern")


async def result(client: StdioClient, number: int) -> Json:
    return (await client.answer_to(number))["result"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", [(), ("modern",)])
async def test_a_call_that_still_runs_is_waited_for(
    post: Post, era: str, kind: tuple[str, ...]
) -> None:
    post.serve(*kind)
    async with client_of(post, era) as client:
        first = begin(client)
        await post.until_done("post a")
        second = begin(client)
        await until_true(lambda: len(post.calls()) == 2, 60)
        post.answer()
        one, other = await result(client, first), await result(client, second)
        (known, again) = post.calls()
    assert text_of(one) == "posted: a"
    assert repeats(one) == ""
    assert text_of(other).startswith("posted: a")
    assert repeats(other) == known.id == again.repeats
    assert "nothing was run a second time" in text_of(other)
    assert post.done == ["post a"]


@pytest.mark.parametrize("era", ERAS)
async def test_after_its_patience_was_over_a_client_gets_what_became_of_its_call(
    post: Post, era: str
) -> None:
    async with client_of(post, era) as client:
        number = begin(client)
        await post.until_done("post a")
        gone = {"requestId": number, "reason": TIMED_OUT}
        await client.notify("notifications/cancelled", gone)
        await until_true(lambda: post.calls()[0].given_up == "timed-out", 60)
        waiting = begin(client)
        await until_true(lambda: len(post.calls()) == 2, 60)
        post.answer()
        assert repeats(await result(client, waiting)) == post.calls()[0].id
        # Its answer was delivered now, so the next is a new one.
        await until_true(lambda: post.kept == [], 60)
        assert repeats(await result(client, begin(client))) == ""
    assert post.done == ["post a", "post a"]


async def test_a_client_that_comes_back_gets_what_became_of_its_call(post: Post) -> None:
    first = await left_behind(post)
    async with client_of(post) as client:
        again = await result(client, begin(client))
        assert text_of(again).startswith("posted: a")
        assert f"call {first}, the same one" in text_of(again)
        assert repeats(again) == first
        await until_true(lambda: post.kept == [], 60)
        assert post.done == ["post a"]
        (known, _) = post.calls()
        assert known.answer == "delivered"
        # Delivered is delivered: the next one is a new call.
        assert repeats(await result(client, begin(client))) == ""
    assert post.done == ["post a", "post a"]


async def test_also_when_the_daemon_was_killed_meanwhile(post: Post) -> None:
    first = await left_behind(post)
    pid = daemon_pid(post.workspace)
    os.kill(pid, signal.SIGKILL)
    await until_gone([pid])
    async with client_of(post) as client:
        assert repeats(await result(client, begin(client))) == first
        await until_true(lambda: post.kept == [], 60)
    assert post.done == ["post a"]


async def test_a_client_that_leaves_again_before_it_reads_can_come_back_once_more(
    post: Post,
) -> None:
    begun = Rude(post)
    await begun.answer()
    begun.begin("tools/call", call())
    await post.until_done("post a")
    await begun.leave()
    post.answer()
    await post.until_answers("kept")
    # It is answered, and does not read that.
    again = Rude(post)
    await again.answer()
    again.begin("tools/call", call())
    (first, _) = await post.until_answers("kept", "sent")
    await again.leave()
    await post.until_answers("kept", "lost")
    last = Rude(post)
    await last.answer()
    last.begin("tools/call", call())
    assert repeats((await last.answer())["result"]) == first.id
    await until_true(lambda: post.kept == [], 60)
    await last.leave()
    assert post.done == ["post a"]


async def test_an_answer_that_its_client_left_unread_is_told_when_it_comes_back(
    post: Post,
) -> None:
    post.answer()
    client = Rude(post)
    await client.answer()
    client.begin("tools/call", call())
    (first,) = await post.until_answers("sent")
    await client.leave()
    await post.until_answers("kept")
    assert (await post.type("result", first.id)).out == "posted: a\n"
    again = Rude(post)
    await again.answer()
    again.begin("tools/call", call())
    assert repeats((await again.answer())["result"]) == first.id
    await again.leave()
    assert post.done == ["post a"]


async def test_an_answer_that_was_delivered_answers_nothing_again(post: Post) -> None:
    post.answer()
    async with client_of(post) as client:
        for _ in range(3):
            assert repeats(await result(client, begin(client))) == ""
    async with client_of(post) as client:
        assert repeats(await result(client, begin(client))) == ""
    assert post.done == ["post a"] * 4
    assert post.kept == []


async def test_a_call_that_only_reads_is_run_again(post: Post) -> None:
    async with client_of(post) as client:
        await client.introspect("post_suite")
        both = [begin(client, "look"), begin(client, "look")]
        await post.until_done("look a", "look a")
        post.answer()
        answers = [await result(client, each) for each in both]
        assert [text_of(each) for each in answers] == ["looked: a"] * 2


async def test_the_order_of_arguments_makes_no_other_call_and_their_values_do(post: Post) -> None:
    async with client_of(post) as client:
        first = begin(client, text="a", more={"x": 1, "y": 2})
        await post.until_done("post a")
        same = call(text="a")
        same["arguments"]["args"] = {"more": {"y": 2, "x": 1}, "text": "a"}
        second = client.begin("tools/call", same)
        other = begin(client, text="a", more={"x": 1, "y": 3})
        await post.until_done("post a", "post a")
        post.answer()
        found = [repeats(await result(client, each)) for each in (first, second, other)]
        assert found == ["", post.calls()[0].id, ""]


async def test_two_sessions_that_are_there_share_nothing(post: Post) -> None:
    async with client_of(post) as one, client_of(post) as other:
        begun = begin(one)
        await post.until_done("post a")
        another = begin(other)
        await post.until_done("post a", "post a")
        post.answer()
        assert repeats(await result(one, begun)) == ""
        assert repeats(await result(other, another)) == ""


async def test_what_one_client_left_is_not_for_another(post: Post, tmp_path: Path) -> None:
    """Neither for one of another name, nor in another workspace, nor of another server."""
    first = await left_behind(post)
    other = Rude(post, "another")
    await other.answer()
    other.begin("tools/call", call())
    assert repeats((await other.answer())["result"]) == ""
    await other.leave()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root, post.workspace.root = post.workspace.root, elsewhere
    async with client_of(post) as client:
        assert repeats(await result(client, begin(client))) == ""
    post.workspace.root = root
    post.serve("other")
    async with client_of(post) as client:
        assert repeats(await result(client, begin(client))) == ""
    assert post.done == ["post a"] * 4
    # It still is for whoever looks, and for the same client.
    assert (await post.type("result", first)).out == "posted: a\n"
    post.serve()
    async with client_of(post) as client:
        assert repeats(await result(client, begin(client))) == first


async def test_a_call_that_is_cancelled_goes_on_for_those_who_wait_for_it(post: Post) -> None:
    async with client_of(post) as client:
        first = begin(client)
        await post.until_done("post a")
        second = begin(client)
        await until_true(lambda: len(post.calls()) == 2, 60)
        await client.notify("notifications/cancelled", {"requestId": first})
        await until_true(lambda: post.calls()[0].given_up == "cancelled", 60)
        post.answer()
        assert text_of(await result(client, second)).startswith("posted: a")
    assert post.done == ["post a"]


async def test_it_is_cancelled_with_the_last_of_them(post: Post) -> None:
    async with client_of(post) as client:
        first = begin(client)
        await post.until_done("post a")
        second = begin(client)
        await until_true(lambda: len(post.calls()) == 2, 60)
        await client.notify("notifications/cancelled", {"requestId": first})
        await until_true(lambda: post.calls()[0].given_up == "cancelled", 60)
        await client.notify("notifications/cancelled", {"requestId": second})
        await post.until_done("post a", "cancelled a")
        await post.until_calls("cancelled", "cancelled")


async def test_many_at_once_run_once(post: Post) -> None:
    async with client_of(post) as client:
        begun = [begin(client) for _ in range(50)]
        await until_true(lambda: len(post.calls()) == 50, 60)
        post.answer()
        answers = [await result(client, each) for each in begun]
        (own,) = (each for each in answers if not repeats(each))
        assert text_of(own) == "posted: a"
        assert {repeats(each) for each in answers if repeats(each)} == {post.calls()[0].id}
    assert post.done == ["post a"]


async def test_a_repeat_asks_nobody_and_uses_no_approval(post: Post) -> None:
    post.workspace.config_toml("guard = true\n", scope="home")
    async with client_of(post) as client:
        first = begin(client)
        waiting = await approved(post)
        await post.until_done("post a")
        second = begin(client)
        await until_true(lambda: len(post.calls()) == 2, 60)
        assert (await post.type("approvals", "list", "--json")).report["approvals"] == []
        post.answer()
        assert repeats(await result(client, first)) == ""
        assert repeats(await result(client, second)) == post.calls()[0].id
        # The next one is a new call, and asks anew.
        third = begin(client)
        assert await approved(post) != waiting
        assert repeats(await result(client, third)) == ""
    assert post.done == ["post a", "post a"]
    shown = await post.type("audit", "show", post.calls()[1].id, "--json")
    (record,) = (each["record"] for each in shown.report["records"])
    assert record["event"] == "tool.call.repeated"
    assert post.calls()[0].id in record["note"]
