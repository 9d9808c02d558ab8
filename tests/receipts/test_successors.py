"""What a session left is for the process that started it, and for nobody who takes its name."""

import sys

import pytest
from msgspec.structs import replace

from cli.commands import Finished, switchboard
from fakes.calls import a_call, a_session
from receipts.ground import (
    Post,
    Rude,
    approved,
    asked,
    begin,
    call,
    client_of,
    left_behind,
    repeats,
)
from runs.ground import a_spec
from support.processes import until_true
from support.requirements import attack
from switchboard.providers.agents.calls.request_keys import asked_by
from switchboard.receipts.identity import successor_claim

# Another program that starts a client.
HOST = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")


async def left_by_rude(post: Post, *, guarded: bool = False) -> str:
    """The id of a call whose answer its client left unread."""
    client = Rude(post, "claude-code")
    await client.answer()
    client.begin("tools/call", call())
    if guarded:
        await approved(post)
    await post.until_done("post a")
    await client.leave()
    post.answer()
    (known,) = await post.until_answers("kept")
    return known.id


@attack("T20")
async def test_a_program_of_the_same_name_gets_nothing_and_takes_nothing_away(post: Post) -> None:
    first = await left_by_rude(post)
    thief = Rude(post, "claude-code", host=HOST)
    await thief.answer()
    thief.begin("tools/call", call())
    assert repeats((await thief.answer())["result"]) == ""
    await thief.leave()
    assert post.done == ["post a", "post a"]
    # It is still there for the one that it belongs to.
    rightful = Rude(post, "claude-code")
    await rightful.answer()
    rightful.begin("tools/call", call())
    assert repeats((await rightful.answer())["result"]) == first
    await rightful.leave()
    assert post.done == ["post a", "post a"]


@attack("T20")
async def test_in_another_session_a_person_is_asked_before_it_is_told(post: Post) -> None:
    post.workspace.config_toml("guard = true\n", scope="home")
    first = await left_by_rude(post, guarded=True)
    again = Rude(post, "claude-code")
    await again.answer()
    again.begin("tools/call", call())
    denied = ("approvals", "deny", await asked(post))
    assert switchboard(post.workspace, *denied, apart=True).code == 0
    refused = (await again.answer())["result"]
    assert refused["isError"]
    assert "posted" not in str(refused)
    again.begin("tools/call", call())
    await approved(post)
    assert repeats((await again.answer())["result"]) == first
    await until_true(lambda: post.kept == [], 60)
    await again.leave()
    assert post.done == ["post a"]


@attack("T20")
@pytest.mark.parametrize(
    "unknown",
    [
        {"client": ""},
        {"client_pid": 0},
        # Everybody's orphans are its children.
        {"client_pid": 1},
        {"client_began": 0},
    ],
)
def test_who_started_a_session_must_be_known(unknown: dict[str, str | int]) -> None:
    known = {"client": "claude-code", "client_pid": 4711, "client_began": 99}
    claims = [
        successor_claim(a_call(session=replace(a_session(), **more)))
        for more in (known, known, {**known, **unknown}, {**known, "client_began": 100})
    ]
    assert claims[0] == claims[1] != ""
    assert claims[2] == ""
    assert claims[3] not in claims[:3]


@attack("T20")
async def test_below_a_client_nobody_is_shown_what_others_called(post: Post) -> None:
    first = await left_behind(post)

    def shown(*words: str, apart: bool = False) -> Finished:
        return switchboard(post.workspace, *words, apart=apart)

    async with client_of(post) as client:
        begin(client, "look")
        for words in (("calls",), ("calls", "--json"), ("result", first)):
            refused = shown(*words)
            assert refused.code != 0
            assert first not in refused.out
            assert "posted" not in refused.out
            assert "the calls of others are not for it" in refused.out + refused.err
        assert first in shown("calls", apart=True).out
        assert shown("result", first, apart=True).out == "posted: a\n"


@attack("T20")
def test_a_run_is_known_again_by_the_process_and_not_by_the_name() -> None:
    known = {"client": "claude-code", "client_pid": 4711, "client_began": 99}
    keys = [
        asked_by(a_call(session=replace(a_session(), **each)), a_spec()).repeat_key
        for each in (known, known, {**known, "client_pid": 4712}, {**known, "client_pid": 0})
    ]
    assert keys[0] == keys[1] != ""
    assert keys[2] not in keys[:2]
    assert keys[3] == ""
