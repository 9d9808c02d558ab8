"""What a model is given of a long result, and what it can read of the rest."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_call, a_session, a_tool
from fakes.events import MemoryEvents
from support.workspace import Workspace
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call, Outcome, TextBlock, WireBlock
from switchboard.core.calls.launches import Launch
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.core.text.tokens import estimated_tokens
from switchboard.daemon.board.runtime import running
from switchboard.pipeline.gates.results import RESULT_KEY, ResultsGate
from switchboard.results.inlining import Inlining, Share
from switchboard.results.reading import Wanted, part_of
from switchboard.results.shape import shape_of
from switchboard.results.store import ResultStore
from switchboard.settings.load import load_settings

TOKENS = 500
BOUNDED = Inlining(TOKENS)
PAGE = {"title": "Home", "items": [{"id": n, "name": f"item {n}"} for n in range(2_000)]}
LOG = "\n".join(
    f"{n} {'error' if n % 500 == 0 else 'fine'} something happened" for n in range(2_000)
)
DOT = {"type": "image", "data": "AAAA" * 20_000, "mimeType": "image/png"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(*content: Any, **more: Any) -> Raw:
    return Raw(msgspec.json.encode({"content": content, **more}))


class Road:
    """The gate with a tool behind it that answers what it is told to."""

    def __init__(self, inlining: Inlining = BOUNDED) -> None:
        self.store = ResultStore()
        self.gate = ResultsGate(inlining, self.store)

    async def run(self, outcome: Outcome, **more: Any) -> Outcome:
        async def answer(_: Call) -> Outcome:
            return outcome

        tool = a_tool("page")
        launch = Launch(tool=tool, server="wiki", fingerprint="f", runs="", cwd="/")
        return await self.gate(replace(a_call(tool), launch=launch, **more), answer)

    def document(self, outcome: Outcome, session: Session | None = None) -> Any:
        handle = outcome.meta[RESULT_KEY]["handle"]
        return self.store.find(session or a_session(), handle).document()


def told(outcome: Outcome) -> str:
    first = outcome.blocks[0]
    assert isinstance(first, TextBlock)
    return first.text


AS_SERVERS_ANSWER = {
    "structured": Outcome(raw=result(text("see there"), structuredContent=PAGE)),
    "json": Outcome(raw=result(text(json.dumps(PAGE)))),
    "twice": Outcome(raw=result(text(json.dumps(PAGE)), structuredContent=PAGE)),
    "made into text": Outcome(
        blocks=(TextBlock(json.dumps({"structuredContent": PAGE})),),
        result=result(structuredContent=PAGE),
    ),
    "ours": Outcome(blocks=(TextBlock("see there"),), structured=Raw(json.dumps(PAGE).encode())),
}


@pytest.mark.parametrize("outcome", AS_SERVERS_ANSWER.values(), ids=AS_SERVERS_ANSWER)
async def test_a_long_result_is_kept_whole_however_it_was_given(outcome: Outcome) -> None:
    road = Road()
    given = await road.run(outcome)
    assert road.document(given) == PAGE
    words = told(given)
    assert given.meta[RESULT_KEY]["handle"] in words
    assert "Shape: {title: string, items: [2,000 of {id: number, name: string}]}" in words
    assert '"title": "Home"' in words
    assert '"name": "item 1999"' in words
    assert "are left out" in words
    assert estimated_tokens(words) <= TOKENS
    assert given.raw is given.structured is given.result is None


async def test_a_long_text_is_shown_by_its_first_and_last_lines() -> None:
    road = Road()
    given = await road.run(Outcome(raw=result(text(LOG))))
    assert road.document(given) == LOG
    head, *lines = told(given).splitlines()
    assert f"{len(LOG):,} characters in 2,000 lines" in head
    assert "`read_result`" in head
    assert lines[0] == LOG.splitlines()[0]
    assert lines[-1] == LOG.splitlines()[-1]
    [gap] = [at for at, each in enumerate(lines) if each.startswith("[…")]
    last = 2_000 - (len(lines) - gap - 1)
    assert lines[gap] == f"[… lines {gap + 1:,} to {last:,} are left out …]"


async def test_a_text_without_lines_is_shown_and_read_all_the_same() -> None:
    road = Road()
    words = "word " * 10_000
    given = await road.run(Outcome(raw=result(text(words))))
    assert estimated_tokens(told(given)) <= TOKENS
    share = Share(TOKENS)
    handle = given.meta[RESULT_KEY]["handle"]
    parts = [
        part_of(words, Wanted(handle, lines=str(number)), share).partition("\n")[2]
        for number in range(1, 51)
    ]
    assert "".join(parts) == words


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(raw=result(text("short"))),
        Outcome(raw=result(text("short"), structuredContent={"a": 1})),
        Outcome(blocks=(TextBlock("short"),)),
        # However many bytes an image has, it is not text that a model reads.
        Outcome(raw=result(text("a dot"), DOT)),
        Outcome(raw=Raw(b'{"resultType":"input_required","content":[]}' + b" " * 90_000)),
        Outcome(raw=Raw(b'"no result at all' + b"x" * 90_000 + b'"')),
        Outcome(task_id="task-1", blocks=(TextBlock(LOG),)),
    ],
)
async def test_what_fits_or_is_no_plain_answer_stays_as_it_is(outcome: Outcome) -> None:
    assert await Road().run(outcome) is outcome


async def test_images_and_links_are_passed_on_beside_the_excerpt() -> None:
    road = Road()
    link = {"type": "resource_link", "uri": "demo://dot", "name": "dot"}
    inner = {"type": "resource", "resource": {"uri": "demo://log", "text": LOG}}
    given = await road.run(Outcome(raw=result(text("a dot"), DOT, inner, link)))
    assert road.document(given) == ["a dot", LOG]
    blocks = [msgspec.json.decode(each.raw) for each in given.blocks if isinstance(each, WireBlock)]
    assert blocks == [DOT, link]


async def test_a_failure_is_told_as_far_as_it_may_be() -> None:
    plain, failed = (
        await Road().run(Outcome(raw=result(text(LOG)))),
        await Road().run(Outcome(raw=result(text(LOG), isError=True), is_error=True)),
    )
    assert failed.is_error
    assert not plain.is_error
    assert len(told(failed)) > 1.5 * len(told(plain))
    assert estimated_tokens(told(failed)) <= TOKENS


async def test_what_a_server_notes_beside_its_result_stays_with_it() -> None:
    given = await Road().run(Outcome(raw=result(text(LOG), _meta={"demo/cost": 3})))
    assert json.loads(msgspec.json.encode(given.meta))["demo/cost"] == 3


@pytest.mark.parametrize(
    ("inlining", "is_kept"),
    [
        (Inlining(TOKENS), True),
        (Inlining(0, {"wiki": TOKENS}), True),
        (Inlining(TOKENS, {"wiki": 0}), False),
        (Inlining(0, {"another": TOKENS}), False),
        (Inlining(1_000_000), False),
    ],
)
async def test_each_server_may_have_a_limit_of_its_own(inlining: Inlining, is_kept: bool) -> None:
    given = await Road(inlining).run(Outcome(raw=result(text(LOG))))
    assert (RESULT_KEY in given.meta) == is_kept


@pytest.mark.parametrize(
    ("session", "is_kept"),
    [
        (a_session(), True),
        (replace(a_session(), client="codex-mcp-client 0.1"), True),
        (replace(a_session(), client="claude-code 2.1"), False),
        (a_session(via="cli"), False),
        (a_session(via="http-control"), False),
    ],
)
async def test_who_keeps_long_results_or_is_no_model_gets_them_whole(
    session: Session, is_kept: bool
) -> None:
    given = await Road().run(Outcome(raw=result(text(LOG))), session=session)
    assert (RESULT_KEY in given.meta) == is_kept
    always = await Road(Inlining(TOKENS, is_for_all=True)).run(
        Outcome(raw=result(text(LOG))), session=replace(session, via="stdio")
    )
    assert RESULT_KEY in always.meta


async def test_no_more_is_shown_than_the_host_is_known_to_show() -> None:
    road = Road(Inlining(100_000))
    codex = replace(a_session(), client="codex-mcp-client 0.1")
    given = await road.run(Outcome(raw=result(text(LOG))), session=codex)
    assert len(msgspec.json.encode(told(given))) <= 10_000
    assert await road.run(whole := Outcome(raw=result(text(LOG)))) is whole


# Reading


def read(document: Any, **wanted: Any) -> str:
    return part_of(document, Wanted("r1", **wanted), Share(TOKENS))


def test_a_part_is_read_by_its_path() -> None:
    assert (
        read(PAGE, path="/items/7")
        == '[lines 1-4 of 4 of r1 /items/7]\n{\n "id": 7,\n "name": "item 7"\n}'
    )
    assert read(PAGE, path="$.items.7.name").endswith("]\nitem 7")
    assert read(PAGE, path="/title", lines="1").endswith("]\nHome")


@pytest.mark.parametrize(
    ("lines", "first", "last"), [("10-12", 9, 11), ("1999-", 1998, 1999), ("5", 4, 4), (5, 4, 4)]
)
def test_lines_are_read_by_their_numbers(lines: Any, first: int, last: int) -> None:
    head, *found = read(LOG, lines=lines).splitlines()
    assert found == LOG.splitlines()[first : last + 1]
    assert head == f"[lines {first + 1:,}-{last + 1:,} of 2,000 of r1]"


def test_words_are_found_in_either_case_and_are_no_pattern() -> None:
    head, *found = read(LOG, grep="ERROR").splitlines()
    assert head == "[4 of 2,000 lines of r1 hold it]"
    assert found == [f"{n + 1}: {LOG.splitlines()[n]}" for n in (0, 500, 1_000, 1_500)]
    assert len(read(LOG, grep="error", lines="400-1100").splitlines()) == 3
    assert read(LOG, grep="(e+)+$") == "[0 of 2,000 lines of r1 hold it]"


@pytest.mark.parametrize("wanted", [{}, {"grep": "something"}, {"lines": "100-1900"}])
def test_an_answer_is_bounded_and_says_how_to_go_on(wanted: dict[str, str]) -> None:
    seen: list[str] = []
    answer = read(LOG, **wanted)
    while True:
        assert estimated_tokens(answer) <= TOKENS
        head, *lines = answer.splitlines()
        seen += lines
        if "go on with" not in head:
            break
        answer = read(LOG, **{**wanted, "lines": head.partition('"')[2].partition('"')[0]})
    first, last = (99, 1_900) if "lines" in wanted else (0, 2_000)
    assert [each.partition(": ")[2] or each for each in seen] == LOG.splitlines()[first:last]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"path": "/nowhere"}, "no-such-place"),
        ({"path": "nowhere"}, "no-such-place"),
        ({"path": "/items/2000"}, "no-such-place"),
        ({"lines": "99999"}, "no-such-place"),
        ({"lines": "5-3"}, "arguments-invalid"),
        ({"lines": "0-3"}, "arguments-invalid"),
        ({"lines": "a-b"}, "arguments-invalid"),
        ({"lines": "-5"}, "arguments-invalid"),
        ({"lines": "9" * 5_000}, "arguments-invalid"),
    ],
)
def test_a_part_that_is_not_there_is_told_as_such(wanted: Any, reason: str) -> None:
    with pytest.raises(Fault) as caught:
        read(PAGE, **wanted)
    assert caught.value.reason == reason
    assert caught.value.hint


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"a": 1, "b": [True, False], "c": None}, "{a: number, b: [2 of boolean], c: null}"),
        ([1, "x"], "[2 of number | string]"),
        ([], "[]"),
        ({"body": "x" * 12_400}, "{body: string(12,400)}"),
        ({"a\nb": {"c": {"d": {"e": {"f": 1}}}}}, "{a b: {c: {d: {e: {1 members}}}}}"),
    ],
)
def test_a_shape_tells_names_kinds_and_counts(value: Any, shape: str) -> None:
    assert shape_of(value) == shape


def test_a_shape_is_short_whatever_it_is_of() -> None:
    wide: Any = {
        f"name {n} {'x' * 100}": {f"{m}": list(range(m)) for m in range(50)} for n in range(500)
    }
    assert len(shape_of(wide)) <= 601


# On the road


@pytest.mark.parametrize(("settings", "is_kept"), [("", False), ("inline_tokens = 8000", True)])
async def test_where_nothing_is_bounded_there_is_no_gate_on_the_road(
    tmp_path: Path, settings: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Inlining] = []

    def note(_: ResultsGate, inlining: Inlining, _store: ResultStore) -> None:
        made.append(inlining)

    monkeypatch.setattr(ResultsGate, "__init__", note)
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    workspace.config_toml(f"[results]\n{settings}\n")
    own = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(own, environ=workspace.env, events=EventBus(MemoryEvents().emit)) as board:
        board.engine.build(own, board.assembly)
        hints = [spec.most_letters for spec in board.assembly.catalog.tools.values()]
    assert {each.tokens for each in made} == ({8_000} if is_kept else set())
    assert hints == ([32_000, 0] if is_kept else [0])


async def test_the_end_of_a_session_is_the_end_of_what_it_kept(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    workspace.config_toml("[results]\ninline_tokens = 1000\n")
    own = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(own, environ=workspace.env, events=EventBus(MemoryEvents().emit)) as runtime:

        async def run(tool: str, **arguments: Any) -> Outcome:
            with runtime.boards.lease() as board:
                return await board.pipeline(a_call(board.catalog.tools[tool], arguments))

        given = await run("echo_suite", action="call", subtool="echo", args={"text": LOG})
        handle = given.meta[RESULT_KEY]["handle"]
        assert "1500 error" in told(await run("read_result", handle=handle, grep="1500 error"))
        runtime.engine.leave("session")
        with pytest.raises(Fault) as caught:
            await run("read_result", handle=handle)
        assert caught.value.reason == "unknown-result"


@pytest.mark.parametrize("before", [0, 994, 998, 1_000, 1_998, 4_995])
def test_a_word_is_found_where_a_long_line_is_parted(before: int) -> None:
    line = "x" * before + "Needle" + "y" * 3_000
    text = f"first\n{line}\n{'z' * 1_000}\nle and nothing else"
    part = part_of(text, Wanted("r1", grep="needle"), Share(tokens=8_000))
    shown = "".join(each.partition(": ")[2] for each in part.splitlines()[1:])
    assert "Needle" in shown
    assert "nothing else" not in shown


def test_a_word_longer_than_a_line_is_found() -> None:
    text = "a" * 500 + "b" * 2_500 + "c"
    part = part_of(text, Wanted("r1", grep="b" * 2_400), Share(tokens=8_000))
    assert part.startswith("[4 of 4 lines")
