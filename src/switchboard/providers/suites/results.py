"""A child's result as the one text block that a suite answers with.

The text is the JSON of the whole result. What is not text (images, audio, resources) follows as
blocks of its own, and the text names it instead of repeating it.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.children.results import malformed_result
from switchboard.core.calls import Outcome, TextBlock, WireBlock


class _Head(Struct, rename="camel"):
    is_error: bool = False
    content: list["_BlockHead"] = []


class _BlockHead(Struct):
    type: str = "text"


class _Blocks(Struct):
    content: list[Raw] = []


_read_head = msgspec.json.Decoder(_Head).decode
_read_blocks = msgspec.json.Decoder(_Blocks).decode
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_block = msgspec.json.Decoder(dict[str, Any]).decode

# What a named block keeps of itself in the text.
_KEPT = ("type", "mimeType", "uri", "name", "title")


def outcome_from_result(result: Raw) -> Outcome:
    """The outcome of a call whose result is shown as JSON."""
    try:
        head = _read_head(result)
        if all(block.type == "text" for block in head.content):
            text = str(memoryview(result), "utf-8")
            return Outcome(blocks=(TextBlock(text),), is_error=head.is_error)
        return _outcome_with_blocks(result, is_error=head.is_error)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise malformed_result(error) from None


def with_choice(outcome: Outcome, subtool: str, args: Raw) -> Outcome:
    """The outcome of a call that a model chose, with a last block that tells what was called."""
    text = encode({"natural_language": {"subtool": subtool, "args": args}}).decode()
    if outcome.raw is None:
        return replace(outcome, blocks=(*outcome.blocks, TextBlock(text)))
    try:
        members = _read_members(outcome.raw)
        content = [*_read_blocks(outcome.raw).content, {"type": "text", "text": text}]
    except msgspec.MsgspecError as error:
        raise malformed_result(error) from None
    return replace(outcome, raw=Raw(encode({**members, "content": content})))


def _outcome_with_blocks(result: Raw, *, is_error: bool) -> Outcome:
    members = _read_members(result)
    content: list[Raw | dict[str, Any]] = []
    moved: list[WireBlock] = []
    for raw in _read_blocks(result).content:
        block = _read_block(raw)
        if block.get("type", "text") == "text":
            content.append(raw)
            continue
        moved.append(WireBlock(raw))
        named = {key: block[key] for key in _KEPT if key in block}
        content.append({**named, "block": len(moved)})
    text = encode({**members, "content": content}).decode()
    return Outcome(blocks=(TextBlock(text), *moved), is_error=is_error)
