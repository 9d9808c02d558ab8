"""What a client sees differently behind Switchboard, and which of it is meant."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from .link import Json, as_list, as_object

# What an era puts into its results, whoever answers.
_OF_THE_ERA = ("ttlMs", "cacheScope", "resultType", "io.modelcontextprotocol/serverInfo")
_NOTHING = "<nothing>"
_LISTINGS = {"prompts": "prompts", "resources": "resources", "templates": "resourceTemplates"}

_MOST_SHOWN = 40_000
# Of all that a session is told when it begins.
_MOST_TOLD = 2_048
_MOMENT = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?")

# Of a suite's subtool these are told, and they have to be the same.
_TOLD_OF_SUBTOOLS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

# The differences that are meant, by name.
EMPTY_LISTING = "an empty listing instead of -32601"
OUR_WORDS = "our words for an unknown tool"
NAMED_ERROR = "an error of the protocol has the name of its server in front"
FAILED_CALL = "an error of the protocol is a failed call of the suite"
NO_LISTING = "it cannot list its tools directly either"
LONG_SCHEMA = "an output schema is longer than hosts show"
LONG_WORDS = "instructions are cut where Claude Code would cut them"
UNSTEADY = "it answers this differently each time"


class Difference(NamedTuple):
    """One place of one step; `meant` names a difference that shall be."""

    step: str
    place: str
    direct: Any
    behind: Any
    meant: str = ""


def compared(
    direct: Mapping[str, Json],
    again: Mapping[str, Json],
    behind: Mapping[str, Json],
    unsteady: Collection[str] = (),
) -> Iterator[Difference]:
    """What differs, step by step. What differs between two direct runs is not looked at.

    Nor are steps that are known to be unsteady, because two runs may be the same by chance.
    """
    lists_nothing = "error" in direct["tools"]
    for step, answer in direct.items():
        other = behind.get(step, {})
        if step == "instructions":
            # Ours stand before those of the server.
            said, heard = answer["result"]["text"], other["result"]["text"]
            if said not in heard:
                reason = NO_LISTING if lists_nothing else ""
                if _is_cut(said, heard):
                    reason = LONG_WORDS
                yield Difference(step, "", said, heard, reason)
            continue
        reason = _meant(step, answer, other)
        if lists_nothing and step.startswith(("call ", "wrong ", "still ")):
            reason = NO_LISTING
        if step in unsteady:
            reason = UNSTEADY
        if reason:
            yield Difference(step, "", answer, other, reason)
            continue
        one, two = _plain(answer), _plain(other)
        changing = [place for place, _, _ in _differing(one, _plain(again.get(step, {})))]
        for place, x, y in _differing(one, two):
            if not any(place.startswith(each) for each in changing):
                is_long = place.endswith(".outputSchema") and len(json.dumps(x)) > _MOST_SHOWN
                yield Difference(step, place, x, y, LONG_SCHEMA if is_long else "")


def _is_cut(said: str, heard: str) -> bool:
    """Whether all is there that fits into what a host shows."""
    begins = said[:60]
    kept = heard[heard.find(begins) :].removesuffix("…") if begins in heard else ""
    return bool(kept) and said.startswith(kept) and _MOST_TOLD - 10 < len(heard) <= _MOST_TOLD


def _meant(step: str, direct: Json, behind: Json) -> str:
    error, result = as_object(direct.get("error")), as_object(behind.get("result"))
    if step in _LISTINGS and error.get("code") == -32601 and result.get(_LISTINGS[step]) == []:
        return EMPTY_LISTING
    if step == "wrong name":
        return OUR_WORDS
    if step == "tools" and error:
        return NO_LISTING
    said = _undated(error.get("message") or "")
    if said and said in _undated(as_object(behind.get("error")).get("message", "")):
        return NAMED_ERROR
    texts = " ".join(block.get("text", "") for block in as_list(result.get("content")))
    return FAILED_CALL if said and result.get("isError") and said in _undated(texts) else ""


def _undated(text: str) -> str:
    """Without moments and process ids, which are others each time, and as wide as they are."""
    return re.sub(r"\d+", "0", re.sub(" +", " ", text))


def unwrapped(answer: Json) -> Json:
    """The tool's own result in the JSON text of a suite: what is no text stands beside it."""
    content = as_list(as_object(answer.get("result")).get("content"))
    try:
        inner: Json = json.loads(content[0]["text"])
        blocks = [
            content[block["block"]] if "block" in as_object(block) else block
            for block in inner["content"]
        ]
    except (IndexError, KeyError, ValueError, TypeError):
        return answer
    return {"result": {**inner, "content": blocks}}


def as_subtools(answer: Json) -> Json:
    """A direct listing with as much as a suite tells."""
    if "result" not in answer:
        return answer
    tools: list[Json] = as_list(as_object(answer["result"]).get("tools"))
    kept = [{key: each[key] for key in _TOLD_OF_SUBTOOLS if key in each} for each in tools]
    return {"result": {"tools": kept}}


def _plain(value: Any) -> Any:
    """Without what the era adds, and what says nothing."""
    if isinstance(value, list):
        return [_plain(each) for each in as_list(value)]
    if not isinstance(value, dict):
        return value
    members = as_object(value).items()
    kept = {key: _plain(each) for key, each in members if key not in _OF_THE_ERA}
    if kept.get("_meta") == {}:
        del kept["_meta"]
    if kept.get("isError") is False:
        del kept["isError"]
    return {key: each for key, each in kept.items() if key not in {"id", "jsonrpc"}}


def _differing(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        ours, theirs = as_object(one), as_object(other)
        for key in (*ours, *(each for each in theirs if each not in ours)):
            yield from _differing(
                ours.get(key, _NOTHING), theirs.get(key, _NOTHING), f"{place}.{key}"
            )
    elif isinstance(one, list) and len(as_list(one)) == len(as_list(other)):
        pairs = zip(as_list(one), as_list(other), strict=True)
        for number, (x, y) in enumerate(pairs):
            yield from _differing(x, y, f"{place}[{number}]")
    elif _is_other(one, other):
        yield place, one, other


def _is_other(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        # Two runs may have been in the same second.
        return _MOMENT.sub("", one) != _MOMENT.sub("", other)
    return type(one) is not type(other) or one != other
