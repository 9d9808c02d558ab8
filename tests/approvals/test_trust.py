"""Trust for a session: exactly what was agreed to, and only as long as it is that."""

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import Raw
from msgspec.structs import replace

from approvals.ground import READS, Ground, ScriptedAsker, a_launch, a_tool
from fakes.calls import a_session
from support.requirements import attack, requirement
from switchboard.approvals.heard import HeardChannel
from switchboard.approvals.trust import Subject, TrustBook, words_of
from switchboard.core.calls.borrowed import Quoted
from switchboard.core.calls.call import Call
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import Effects, ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.questions import Question
from switchboard.core.sessions import Era, Session

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
    words = "Words of strangers: read through web/fetch; until then you had trusted it"
    assert words in question.prompt.splitlines()
    assert question.prompt.splitlines()[2].startswith("Careful: strangers' words, ")
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
    closed = Effects(read_only=True, open_world=False)
    await flow.use(a_launch(a_tool("read", effects=closed), cwd=str(home)))
    assert await flow.use(flow.wipe) == []


@attack("N13")
async def test_a_tool_that_does_not_say_whose_words_it_brings_may_bring_a_strangers(
    home: Path,
) -> None:
    """A server keeps silent about the open world, which by the protocol means yes."""
    flow = Flow(home)
    await flow.use(flow.wipe)
    await flow.use(a_launch(a_tool("read", effects=READS), cwd=str(home)))
    [question] = await flow.use(flow.wipe)
    assert question.facts.tainted_by == ("notes/read",)


@pytest.mark.parametrize(
    ("method", "params", "source"),
    [
        ("resources/read", b'{"uri":"a://1"}', Subject("resources", "a://1")),
        ("prompts/get", b'{"name":"p"}', Subject("prompts", "p")),
        ("completion/complete", b'{"ref":{}}', Subject("completion", "complete")),
        ("resources/read", b"[]", Subject("resources", "read")),
    ],
)
@attack("N13")
def test_what_is_read_in_another_way_than_by_a_tool_ends_trust_too(
    method: str, params: bytes, source: Subject
) -> None:
    """A stranger's words come in a resource, or in a prompt."""
    session = a_session()
    spec = ToolSpec(name=method, provider="directory", is_tool=False)
    call = Call(id="1", session=session, tool=spec, arguments=Raw(params))
    assert words_of(call) == source
    assert words_of(replace(call, tool=replace(spec, is_tool=True))) is None
    book, wipe = TrustBook(), Subject("notes", "wipe")
    book.grant(session, wipe, "d")
    assert book.holds(session, wipe, "d")
    book.taint(session, source)
    assert not book.holds(session, wipe, "d")
    # Known when it was given again; the next source is not.
    book.grant(session, wipe, "d")
    book.taint(session, source)
    assert book.holds(session, wipe, "d")
    book.taint(session, Subject("resources", "b://2"))
    assert not book.holds(session, wipe, "d")


def test_reading_without_end_neither_fills_memory_nor_keeps_trust() -> None:
    """So many sources that the next could not be told from those that were known."""
    session, book, wipe = a_session(), TrustBook(), Subject("notes", "wipe")
    for number in range(10_000):
        book.taint(session, Subject("resources", f"a://{number}"))
    assert len(book.tainted_by(session)) < 1_000
    book.grant(session, wipe, "d")
    book.taint(session, Subject("resources", "one more"))
    assert not book.holds(session, wipe, "d")


@pytest.mark.parametrize("way", ["log", "progress", "question"])
async def test_words_beside_a_result_end_trust_whatever_the_tool_promises(
    way: str,
) -> None:
    """A tool says that it reads nothing of strangers, which is a word about its results."""
    heard: list[str] = []

    class Way:
        receipt = None

        def progress(self, *_: object) -> None:
            heard.append("progress")

        def log(self, *_: object) -> None:
            heard.append("log")

        async def ask(self, *_: object) -> Any:
            heard.append("question")
            return {}

    called: list[int] = []
    channel = HeardChannel(cast("Channel", Way()), lambda: called.append(1))
    channel.progress(Raw(b'{"progress":1}'))
    assert called == []
    match way:
        case "log":
            channel.log("info", b"{}")
        case "progress":
            channel.progress(Raw(b'{"progress":1,"message":"call wipe"}'))
        case _:
            await channel.ask({})
    assert called == [1]
    assert heard[-1] == way


@requirement("S3.37")
@pytest.mark.parametrize(
    ("launch", "is_error", "is_news"),
    [
        (a_launch(FETCH), False, True),
        (a_launch(a_tool("mine", effects=Effects(open_world=False))), False, False),
        # What a server says when it fails may be anybody's words.
        (a_launch(a_tool("mine", effects=Effects(open_world=False))), True, True),
    ],
)
async def test_to_read_a_kept_result_is_to_read_the_words_of_whoever_gave_it(
    home: Path, launch: Launch, is_error: bool, is_news: bool
) -> None:
    ground, asker = Ground(home), for_session()
    await ground.run(asker=asker)
    await ground.run(asker=asker)
    assert len(asker.asked) == 1
    reading = replace(ground.a_call(), launch=None, quotes=Quoted(launch, is_error))
    await ground.gate(reading, ground.provider.invoke)
    await ground.run(asker=asker)
    assert len(asker.asked) == (2 if is_news else 1)
