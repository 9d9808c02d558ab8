"""A child's result as the text that a suite answers with, in the modes that open it.

The text is the JSON of the result, without what the transport added to it. What is not text
(images, audio, resources) follows as blocks of its own, and the text names it instead of repeating
it. In the mode `compact` the JSON also leaves out what says nothing more.
"""

from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import encode
from msgspec.structs import replace

from switchboard.children.results import malformed_result
from switchboard.core.calls import Outcome, TextBlock, WireBlock
from switchboard.core.names import is_of_the_protocol


class _Head(Struct, rename="camel"):
    is_error: bool = False
    content: list["_BlockHead"] = []
    result_type: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)


class _BlockHead(Struct):
    type: str = "text"


class _Blocks(Struct):
    content: list[Raw] = []


_read_head = msgspec.json.Decoder(_Head).decode
_read_blocks = msgspec.json.Decoder(_Blocks).decode
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_block = msgspec.json.Decoder(dict[str, Any]).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode
_read_any = msgspec.json.Decoder().decode

# What a named block keeps of itself in the text.
_KEPT = ("type", "mimeType", "uri", "name", "title")


def outcome_from_result(result: Raw, *, compact: bool = False) -> Outcome:
    """The outcome of a call whose result is shown as JSON."""
    try:
        head = _read_head(result)
        is_text = all(block.type == "text" for block in head.content)
        as_it_is = head.result_type is UNSET and head.meta is UNSET and not compact
        if as_it_is and is_text:
            text = str(memoryview(result), "utf-8")
            return Outcome(blocks=(TextBlock(text),), is_error=head.is_error)
        members = _without_transport(_read_members(result))
        if compact:
            members = _compact(members, is_error=head.is_error)
        moved: list[WireBlock] = []
        if not is_text:
            kept = ("type",) if compact else _KEPT
            members["content"] = _named(members["content"], moved, kept)
        text = encode(members).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise malformed_result(error) from None
    return Outcome(blocks=(TextBlock(text), *moved), is_error=head.is_error)


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


def _without_transport(members: dict[str, Any]) -> dict[str, Any]:
    """What the tool said: neither the kind of the result nor what the protocol notes beside it."""
    members.pop("resultType", None)
    said: Any = _read_any(members.get("_meta", Raw(b"{}")))
    if not isinstance(said, dict):
        return members
    meta = cast("dict[str, Any]", said)
    own = {key: value for key, value in meta.items() if not is_of_the_protocol(key)}
    if own:
        members["_meta"] = own
    else:
        members.pop("_meta", None)
    return members


def _compact(members: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    """Without a false `isError`, and without texts that repeat the structured content."""
    if not is_error:
        members.pop("isError", None)
    if "structuredContent" not in members or "content" not in members:
        return members
    blocks = [(raw, _read_block(raw)) for raw in _read_list(members["content"])]
    texts = [block.get("text") for _, block in blocks if block.get("type", "text") == "text"]
    if _repeat(texts, _read_any(members["structuredContent"])):
        others = [raw for raw, block in blocks if block.get("type", "text") != "text"]
        members["content"] = Raw(encode(others))
        if not others:
            del members["content"]
    return members


def _repeat(texts: list[Any], structured: Any) -> bool:
    """Whether texts say what the structured content says: as a whole, or its one member.

    Servers have to give an object, so they wrap other values, and tell each item of a list apart.
    """
    said = [structured]
    if isinstance(structured, dict) and len(cast("dict[str, Any]", structured)) == 1:
        said += cast("dict[str, Any]", structured).values()
    if len(texts) == 1 and any(_says(texts[0], value) for value in said):
        return True
    last = said[-1]
    if not isinstance(last, list):
        return False
    items = cast("list[Any]", last)
    return len(items) == len(texts) and all(map(_says, texts, items))


def _says(text: Any, value: Any) -> bool:
    if text == value:
        return True
    try:
        # Numbers and truths that Python takes for equal are written differently.
        return encode(_read_any(text), order="sorted") == encode(value, order="sorted")
    except (msgspec.MsgspecError, TypeError):
        return False


def _named(
    content: Raw, moved: list[WireBlock], kept: tuple[str, ...]
) -> list[Raw | dict[str, Any]]:
    """The content with what is kept of each block that is not text; the blocks go to `moved`."""
    found: list[Raw | dict[str, Any]] = []
    for raw in _read_list(content):
        block = _read_block(raw)
        if block.get("type", "text") == "text":
            found.append(raw)
            continue
        moved.append(WireBlock(raw))
        named = {key: block[key] for key in kept if key in block}
        found.append({**named, "block": len(moved)})
    return found
