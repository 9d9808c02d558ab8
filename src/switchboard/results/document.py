"""A result as something that can be read in parts: one JSON value, and its text in lines.

What would take too much memory as a value is a text, whatever it says.

What a tool gives programs comes first (`structuredContent`), then what its one text says as JSON,
then the texts as they are. Images, audio and links are no part of it: hosts show those in their own
way, and models read them by other rules than text.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.json import encode

from switchboard.core.calls.call import Block, Outcome, TextBlock, WireBlock
from switchboard.core.text.decoded_size import MOST_DECODED, decoded_size

# A line is no longer: what a server wrote without line breaks can be read in parts all the same.
MOST_LINE = 1_000
_OPENS = ("{", "[")
_NOTHING = Raw(b"null")


class _Resource(Struct, frozen=True):
    text: str | None = None


class _Block(Struct):
    type: str = "text"
    text: str = ""
    resource: _Resource = _Resource()


class _Result(Struct, rename="camel"):
    content: list[Raw] = []
    # Not `Raw | None`: msgspec reads only `null` into that.
    structured_content: Raw = _NOTHING
    result_type: str = "complete"
    meta: Raw = msgspec.field(name="_meta", default=_NOTHING)


_read_result = msgspec.json.Decoder(_Result).decode
_read_block = msgspec.json.Decoder(_Block).decode


class Said(Struct, frozen=True, eq=False):
    """What a tool said, taken apart."""

    structured: Raw | None
    texts: tuple[str, ...]
    # What is passed on as it is.
    others: tuple[Block, ...] = ()
    meta: Raw = _NOTHING

    def document(self) -> Any:
        """The value that paths lead into."""
        if self.structured is not None:
            raw = bytes(self.structured)
            return msgspec.json.decode(raw) if _is_affordable(raw) else raw.decode()
        values = [_value(text) for text in self.texts]
        return values[0] if len(values) == 1 else values


def said_in(outcome: Outcome) -> Said | None:
    """What an outcome says; nothing where it is no plain answer."""
    try:
        if outcome.raw is not None:
            return _said_by(outcome.raw)
        if outcome.result is not None:
            # The first block is the text that was made of it.
            own = _said_by(outcome.result)
            return own and Said(own.structured, own.texts, outcome.blocks[1:], own.meta)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    texts = tuple(block.text for block in outcome.blocks if isinstance(block, TextBlock))
    others = tuple(block for block in outcome.blocks if not isinstance(block, TextBlock))
    return Said(outcome.structured, texts, others)


def text_of(value: Any) -> str:
    """A value as it is read: a text as it is, anything else as JSON over several lines."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(encode(value), indent=1).decode()


def lines_of(text: str) -> list[str]:
    """The lines of a text. One that is too long counts as several."""
    if len(text) <= MOST_LINE and "\n" not in text:
        return [text]
    return [part for line in text.split("\n") for part in _parts(line)]


def holding_lines(text: str, sought: str) -> Iterator[int]:
    """The lines, by their numbers from one, that hold a word in either case of its letters.

    Where it goes on in the next part of a line that is too long, both hold it.
    """
    folded, beyond = sought.casefold(), len(sought) - 1
    number = 1
    for line in text.split("\n"):
        for at in range(0, max(1, len(line)), MOST_LINE):
            end = at + MOST_LINE
            if folded in line[at : end + beyond].casefold():
                yield number
                if folded not in line[at:end].casefold():
                    yield from range(number + 1, number + 1 + -(-beyond // MOST_LINE))
            number += 1


def _is_affordable(json: bytes) -> bool:
    return decoded_size(json) <= MOST_DECODED


def _parts(line: str) -> Iterable[str]:
    if len(line) <= MOST_LINE:
        return (line,)
    return (line[at : at + MOST_LINE] for at in range(0, len(line), MOST_LINE))


def _said_by(result: Raw) -> Said | None:
    read = _read_result(result)
    if read.result_type != "complete":
        return None
    texts: list[str] = []
    others: list[Block] = []
    for raw in read.content:
        block = _read_block(raw)
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "resource" and block.resource.text is not None:
            texts.append(block.resource.text)
        else:
            others.append(WireBlock(raw))
    structured = None if read.structured_content == _NOTHING else read.structured_content
    return Said(structured, tuple(texts), tuple(others), read.meta)


def _value(text: str) -> Any:
    """What a text says as JSON, if it is an object or an array; else the text."""
    if text.lstrip()[:1] in _OPENS:
        raw = text.encode()
        try:
            return msgspec.json.decode(raw) if _is_affordable(raw) else text
        except (msgspec.MsgspecError, RecursionError):
            return text
    return text
