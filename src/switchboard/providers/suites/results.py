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

from switchboard.children.inbound.sizes import MOST_BLOCKS, too_many_blocks
from switchboard.children.results import malformed_result, meta_of
from switchboard.core.calls.call import Outcome, TextBlock, WireBlock
from switchboard.core.catalog.names import is_reserved


class _ResultHead(Struct, rename="camel"):
    is_error: bool = False
    content: list["_BlockHead"] = []
    result_type: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)


class _BlockHead(Struct):
    type: str = "text"


class _BlockLabel(Struct, rename="camel"):
    """What a named block keeps of itself in the text, as the child wrote it."""

    type: Raw | UnsetType = UNSET
    mime_type: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    name: Raw | UnsetType = UNSET
    title: Raw | UnsetType = UNSET
    # Its number among the blocks that follow the text.
    block: int = 0


class _ShortBlockLabel(Struct):
    type: Raw | UnsetType = UNSET
    block: int = 0


class _TextBlock(_BlockHead):
    text: Any = None


class _Blocks(Struct):
    content: list[Raw] = []


_read_head = msgspec.json.Decoder(_ResultHead).decode
_read_blocks = msgspec.json.Decoder(_Blocks).decode
_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_text = msgspec.json.Decoder(_TextBlock).decode
_read_label = msgspec.json.Decoder(_BlockLabel).decode
_read_short_label = msgspec.json.Decoder(_ShortBlockLabel).decode
_read_list = msgspec.json.Decoder(list[Raw]).decode
_read_any = msgspec.json.Decoder().decode
_read_block_head = msgspec.json.Decoder(_BlockHead).decode

_COMPARED = ("content", "structuredContent")

# What says the same twice is looked for up to here: beyond, nobody reads it anyway, and everybody
# would wait for the search.
_MOST_COMPARED_BYTES = 1024 * 1024


def outcome_from_result(result: Raw, *, compact: bool = False) -> Outcome:
    """The outcome of a call whose result is shown as JSON."""
    try:
        head = _read_head(result)
        if len(head.content) > MOST_BLOCKS:
            raise too_many_blocks()
        is_text = all(block.type == "text" for block in head.content)
        as_it_is = head.result_type is UNSET and head.meta is UNSET and not compact
        if as_it_is and is_text:
            text = str(memoryview(result), "utf-8")
            return Outcome(blocks=(TextBlock(text),), is_error=head.is_error, result=result)
        members = _without_transport(_read_members(result))
        if compact:
            members = _compact(members, is_error=head.is_error)
        moved: list[WireBlock] = []
        if not is_text:
            members["content"] = _named(members["content"], moved, is_short=compact)
        text = encode(members).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise malformed_result(error) from None
    return Outcome(blocks=(TextBlock(text), *moved), is_error=head.is_error, result=result)


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
    if "_meta" not in members:
        return members
    meta = meta_of(members["_meta"])
    own = {key: value for key, value in meta.items() if not is_reserved(key)}
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
    if max(len(memoryview(members[each])) for each in _COMPARED) > _MOST_COMPARED_BYTES:
        return members
    blocks = [(raw, _read_text(raw)) for raw in _read_list(members["content"])]
    texts = [block.text for _, block in blocks if block.type == "text"]
    if _repeat(texts, _read_any(members["structuredContent"])):
        others = [raw for raw, block in blocks if block.type != "text"]
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
    content: Raw, moved: list[WireBlock], *, is_short: bool
) -> "list[Raw | _BlockLabel | _ShortBlockLabel]":
    """The content with what is kept of each block that is not text; the blocks go to `moved`."""
    found: list[Raw | _BlockLabel | _ShortBlockLabel] = []
    read = _read_short_label if is_short else _read_label
    for raw in _read_list(content):
        if _read_block_head(raw).type == "text":
            found.append(raw)
            continue
        moved.append(WireBlock(raw))
        named = read(raw)
        named.block = len(moved)
        found.append(named)
    return found
