"""What a model reads of a result: `results.mode` for all suites, `resultMode` for one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.boards import json_of, server, serving
from fakes.nursery import SCRIPTED
from support.requirements import requirement
from switchboard.children.exposure import Results, SuiteSettings
from switchboard.children.schema import ServerEntry

ICON = {"name": "duck", "version": "1", "icons": [{"src": "data:image/png;base64," + "A" * 900}]}
STAMP = {"io.modelcontextprotocol/serverInfo": ICON}
DISCOVERED: Any = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {},
}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
PLAIN = {"content": [text("42")], "isError": False}
STAMPED = {**PLAIN, "resultType": "complete", "_meta": STAMP}
NOTED = {**STAMPED, "_meta": {**STAMP, "io.modelcontextprotocol/related-task": {}, "own": 1}}
ROWS = {"columns": ["a"], "rows": [[1.0, True, "é"]]}


def repeating(structured: Any, *texts: str, **more: Any) -> dict[str, Any]:
    content = [text(each) for each in texts]
    return {"content": content, "structuredContent": structured, **more}


def saying(result: Any, name: str = "odd") -> ServerEntry:
    """Give a modern child whose every call has this result."""
    script = {
        method: ['{"jsonrpc":"2.0","id":$id,"result":', json.dumps(said), "}\n"]
        for method, said in (("tools/call", result), ("server/discover", DISCOVERED))
    }
    command = [sys.executable, str(SCRIPTED), json.dumps(script)]
    return server(name, command, protocol="modern")


@requirement("S2.49", "S2.74")
@pytest.mark.parametrize(
    ("result", "read"),
    [
        (PLAIN, PLAIN),
        (STAMPED, PLAIN),
        (NOTED, {**PLAIN, "_meta": {"own": 1}}),
        ({**repeating(ROWS, json.dumps(ROWS)), **STAMPED}, {**repeating(ROWS), **PLAIN}),
    ],
    ids=["plain", "stamped", "with a note of its own", "structured"],
)
async def test_json_is_the_result_without_what_the_transport_added(
    result: Any, read: Any, tmp_path: Path
) -> None:
    async with serving(tmp_path, saying(result)) as desk:
        outcome = await desk.subtool("odd_suite", "any")
        assert json_of(outcome) == read
        assert len(outcome.blocks) == 1


@pytest.mark.parametrize(
    ("result", "read"),
    [
        (STAMPED, {"content": [text("42")]}),
        ({**PLAIN, "isError": True}, {**PLAIN, "isError": True}),
        (repeating(ROWS, json.dumps(ROWS, indent=2)), {"structuredContent": ROWS}),
        (repeating({"result": "hé"}, "hé"), {"structuredContent": {"result": "hé"}}),
        (repeating({"rows": [1, 2]}, "[\n  1, 2]"), {"structuredContent": {"rows": [1, 2]}}),
        (repeating({"result": 3}, "3"), {"structuredContent": {"result": 3}}),
        (
            repeating({"result": ["a", {"b": 1}]}, "a", '{"b": 1}'),
            {"structuredContent": {"result": ["a", {"b": 1}]}},
        ),
        (repeating({"n": 1}, "one"), repeating({"n": 1}, "one")),
        (repeating({"n": 1}, '{"n": true}'), repeating({"n": 1}, '{"n": true}')),
        (repeating({"n": 1}, '{"n": 1}', "more"), repeating({"n": 1}, '{"n": 1}', "more")),
    ],
    ids=[
        *(
            "false isError",
            "true isError",
            "whole",
            "wrapped text",
            "wrapped list",
            "wrapped number",
            "items",
        ),
        *("other words", "another value", "more words"),
    ],
)
async def test_compact_also_drops_what_says_nothing_more(
    result: Any, read: Any, tmp_path: Path
) -> None:
    mode = Results(mode="compact")
    async with serving(tmp_path, saying(result), results=mode) as desk:
        outcome = await desk.subtool("odd_suite", "any")
        assert json_of(outcome) == read
        assert outcome.is_error == result.get("isError", False)


async def test_compact_keeps_pictures_beside_a_text_that_repeats(tmp_path: Path) -> None:
    result = repeating(ROWS, json.dumps(ROWS))
    result["content"].append(IMAGE)
    async with serving(tmp_path, saying(result), results=Results(mode="compact")) as desk:
        outcome = await desk.subtool("odd_suite", "any")
        named = {"type": "image", "block": 1}
        assert json_of(outcome) == {"content": [named], "structuredContent": ROWS}
        assert len(outcome.blocks) == 2


async def test_a_suite_may_differ_from_all_others(tmp_path: Path) -> None:
    own = {"one": SuiteSettings(result_mode="json")}
    servers = [saying(STAMPED, "one"), saying(STAMPED, "two")]
    mode = Results(mode="passthrough")
    async with serving(tmp_path, *servers, suites=own, results=mode) as desk:
        assert json_of(await desk.subtool("one_suite", "any")) == PLAIN
        passed = await desk.subtool("two_suite", "any")
        assert passed.raw is not None
        assert json.loads(bytes(passed.raw)) == STAMPED
