"""Trust for a session: exactly what was agreed to, and only as long as it is that."""

from pathlib import Path
from typing import Any

import pytest

from approvals.ground import READS, Ground, ScriptedAsker, a_launch, a_tool
from fakes.calls import a_session
from support.requirements import requirement
from switchboard.core.launches import Launch
from switchboard.core.questions import Question
from switchboard.core.sessions import Era, Session
from switchboard.core.tools import Effects

FETCH = a_tool("fetch", effects=Effects(read_only=True, open_world=True))


def for_session() -> ScriptedAsker:
    return ScriptedAsker("approved", "session")


@requirement("S3.35")
async def test_once_means_that_the_next_call_asks_again(ground: Ground) -> None:
    asker = ScriptedAsker()
    for _ in range(3):
        await ground.run(asker=asker)
    assert (len(asker.asked), ground.ran) == (3, 3)


@requirement("S3.36")
async def test_a_session_is_asked_once_for_all_calls_of_a_tool(ground: Ground) -> None:
    asker = for_session()
    for number in range(5):
        await ground.run({"path": f"{number}"}, asker=asker)
    assert (len(asker.asked), ground.ran) == (1, 5)
    first, *others = [call.approval for call in ground.provider.invoked]
    assert first is not None
    assert (first.mode, first.channel) == ("session", "client")
    assert all(each is not None and each.channel == "trust" for each in others)


async def test_trust_covers_no_other_tool(ground: Ground) -> None:
    asker = for_session()
    await ground.run(asker=asker)
    ground.change(tool=a_tool("other"))
    await ground.run(asker=asker)
    assert [question.tool for question in asker.asked] == ["wipe", "other"]


@requirement("S3.37")
async def test_trust_never_reaches_another_session(home: Path) -> None:
    ground, asker = Ground(home), for_session()
    await ground.run(asker=asker, session=a_session("one"))
    await ground.run(asker=asker, session=a_session("two"))
    assert len(asker.asked) == 2
    # Nor another process over the same desk, though the session had the same name.
    elsewhere = Ground(home)
    await elsewhere.run(asker=asker, session=a_session("one"))
    assert len(asker.asked) == 3


@requirement("S3.37")
async def test_trust_ends_with_its_session(ground: Ground) -> None:
    asker = for_session()
    await ground.run(asker=asker)
    ground.trust.leave("session")
    await ground.run(asker=asker)
    assert len(asker.asked) == 2


@requirement("S3.37")
@pytest.mark.parametrize(
    "session",
    [
        Session(id="r1", via="http", workspace="/workspace", era=Era.MODERN),
        Session(id="cli", via="cli", workspace="/workspace"),
        Session(id="page", via="http-control", workspace="/workspace"),
    ],
)
async def test_a_client_without_a_session_is_asked_each_time(
    ground: Ground, session: Session
) -> None:
    asker = for_session()
    for _ in range(2):
        await ground.run(asker=asker, session=session)
    assert [question.offers for question in asker.asked] == [("once",), ("once",)]


@pytest.mark.parametrize(
    "change",
    [
        {"tool": a_tool(description="Wipes more.")},
        {"sandbox": "default"},
        {"network": False},
        {"fingerprint": "f2"},
        {"runs": "node other.js"},
        {"env_hash": "other"},
        {"writable_roots": ("/",)},
    ],
)
async def test_trust_is_gone_once_anything_differs_also_when_the_old_state_comes_back(
    home: Path, change: dict[str, Any]
) -> None:
    before = a_launch(cwd=str(home))
    ground, asker = Ground(home, before), for_session()
    await ground.run(asker=asker)
    ground.change(**change)
    asker.extent = "once"
    if "tool" in change:
        # A changed definition is held; that alone ends the trust.
        with pytest.raises(Exception, match="has changed"):
            await ground.run(asker=asker)
    else:
        await ground.run(asker=asker)
    ground.launch = before
    asked = len(asker.asked)
    await ground.run(asker=asker)
    assert len(asker.asked) == asked + 1


# Words of strangers


class Flow:
    """A session that uses two tools in turn."""

    def __init__(self, home: Path) -> None:
        self.ground = Ground(home)
        self.asker = for_session()
        self.wipe = a_launch(cwd=str(home))
        self.fetch = a_launch(FETCH, cwd=str(home), server="web")

    async def use(self, launch: Launch) -> list[Question]:
        """Call the tool, and give what was asked for that."""
        before = len(self.asker.asked)
        self.ground.launch = launch
        await self.ground.run(asker=self.asker)
        return self.asker.asked[before:]


async def test_trust_given_before_strangers_spoke_does_not_hold_after(home: Path) -> None:
    flow = Flow(home)
    assert len(await flow.use(flow.wipe)) == 1
    assert await flow.use(flow.wipe) == []
    assert await flow.use(flow.fetch) == []
    [question] = await flow.use(flow.wipe)
    assert question.facts.tainted_by == ("web/fetch",)
    assert "Careful: this session has read what strangers wrote, through web/fetch" in (
        question.prompt
    )
    # Who knows of that and trusts anyway is not asked again for the same stranger.
    assert await flow.use(flow.fetch) == []
    assert await flow.use(flow.wipe) == []


async def test_a_tool_s_own_results_do_not_end_its_trust(home: Path) -> None:
    flow = Flow(home)
    post = a_launch(a_tool("post", effects=Effects(open_world=True)), cwd=str(home))
    assert len(await flow.use(post)) == 1
    assert await flow.use(post) == []


async def test_a_tool_of_the_closed_world_taints_nothing(home: Path) -> None:
    flow = Flow(home)
    await flow.use(flow.wipe)
    await flow.use(a_launch(a_tool("read", effects=READS), cwd=str(home)))
    assert await flow.use(flow.wipe) == []
