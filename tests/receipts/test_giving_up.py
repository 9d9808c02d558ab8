"""What becomes of a call whose client waits for it no more."""

import os
import signal
from pathlib import Path

import pytest

from receipts.ground import TIMED_OUT, Post, begin, client_of, killed
from support.daemons import daemon_pid, status
from support.processes import mentioning, until_gone, until_true
from support.requirements import requirement

ERAS = ("handshake", "modern")


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_client_that_vanished_began_is_done_and_known_by_its_id(
    post: Post, era: str
) -> None:
    async with client_of(post, era) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    (running,) = await post.until_calls("working")
    assert running.given_up == "left"
    assert (status(post.workspace) or {})["sessions"] == []
    post.answer()
    (ended,) = await post.until_answers("kept")
    assert (ended.id, ended.state) == (running.id, "ok")
    shown = await post.type("result", ended.id)
    assert (shown.code, shown.out) == (0, "posted: a\n")
    report = (await post.type("result", ended.id, "--json")).report
    assert report["call"]["given_up"] == "left"
    assert post.done == ["post a"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_whose_patience_is_over_does_not_end_what_it_began(
    post: Post, era: str
) -> None:
    async with client_of(post, era) as client:
        number = begin(client)
        await post.until_done("post a")
        gone = {"requestId": number, "reason": TIMED_OUT}
        await client.notify("notifications/cancelled", gone)
        (running,) = await post.until_calls("working")
        await until_true(lambda: post.calls()[0].given_up == "timed-out", 60)
        post.answer()
        (ended,) = await post.until_answers("kept")
        assert ended.id == running.id
        # By the protocol a cancelled request is not answered, and others are.
        assert set(await client.tools()) == {"post_suite"}
        assert not any(each.get("id") == number for each in client.messages)
    assert "posted: a" in (await post.type("result", ended.id)).out


@requirement("S3.21", "S3.59")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("reason", [{}, {"reason": "the user pressed a key"}])
async def test_who_cancels_has_it_cancelled(post: Post, era: str, reason: dict[str, str]) -> None:
    async with client_of(post, era) as client:
        number = begin(client)
        await post.until_done("post a")
        await client.notify("notifications/cancelled", {"requestId": number, **reason})
        await post.until_done("post a", "cancelled a")
        (ended,) = await post.until_calls("cancelled")
        assert ended.answer == "none"
    assert post.kept == []
    told = await post.type("result", ended.id)
    assert told.code == 1
    assert "was cancelled" in told.err


@pytest.mark.parametrize("leaves", [True, False])
async def test_a_call_that_only_reads_ends_with_its_client(post: Post, leaves: bool) -> None:
    async with client_of(post) as client:
        await client.introspect("post_suite")
        number = begin(client, "look")
        await post.until_done("look a")
        if leaves:
            await killed(client)
        else:
            gone = {"requestId": number, "reason": TIMED_OUT}
            await client.notify("notifications/cancelled", gone)
        await post.until_done("look a", "cancelled a")
    await post.until_calls("cancelled")
    assert post.kept == []


async def test_nothing_goes_on_where_nothing_is_kept(post: Post) -> None:
    post.workspace.config_toml('[results]\nkeep = "0"\n', scope="home")
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    await post.until_done("post a", "cancelled a")
    assert post.kept == []


@requirement("S2.82")
async def test_a_daemon_that_stops_ends_what_clients_left_behind(post: Post) -> None:
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    await until_true(lambda: post.calls()[0].given_up == "left", 60)
    pid = daemon_pid(post.workspace)
    post.workspace.stop_daemon()
    await until_gone([pid])
    assert post.kept == []


@requirement("S2.83")
async def test_in_a_process_of_its_own_everything_ends_with_the_client(tmp_path: Path) -> None:
    post = Post(tmp_path, daemon=False)
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        assert await client.close() == 0
    post.answer()
    assert mentioning(str(post.folder)) == []
    assert post.done[0] == "post a"
    assert post.kept == []


async def test_a_server_of_one_session_does_its_last_call_to_the_end(post: Post) -> None:
    post.serve(scope="session")
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    await until_true(lambda: post.calls()[0].given_up == "left", 60)
    assert mentioning(str(post.folder)) != []
    post.answer()
    (ended,) = await post.until_answers("kept")
    assert ended.state == "ok"
    # Then it ends, as it does with every session.
    await until_true(lambda: mentioning(str(post.folder)) == [], 60)


async def test_an_outcome_is_there_after_the_daemon_was_killed(post: Post) -> None:
    async with client_of(post) as client:
        begin(client)
        await post.until_done("post a")
        await killed(client)
    post.answer()
    (ended,) = await post.until_answers("kept")
    pid = daemon_pid(post.workspace)
    os.kill(pid, signal.SIGKILL)
    await until_gone([pid])
    # Without a daemon, and with the next one.
    for _ in range(2):
        assert (await post.type("result", ended.id)).out == "posted: a\n"
        (listed,) = (await post.type("calls", "--json")).report["calls"]
        assert (listed["id"], listed["answer"]) == (ended.id, "kept")
        async with client_of(post) as client:
            assert set(await client.tools()) == {"post_suite"}


async def test_nothing_is_claimed_of_a_call_that_the_daemon_took_along(post: Post) -> None:
    post.workspace.config_toml("guard = true\n", scope="home")
    post.workspace.config_toml('guard = true\n[approvals]\nallow = ["post.*"]\n', scope="home")
    async with client_of(post) as client:
        number = begin(client)
        await post.until_done("post a")
        (running,) = post.calls()
        os.kill(daemon_pid(post.workspace), signal.SIGKILL)
        post.answer()
        assert "may or may not have run" in str(await client.answer_to(number))
        told = await post.type("result", running.id)
        assert told.code == 1
        assert "may or may not have had an effect" in told.err
    assert post.kept == []
