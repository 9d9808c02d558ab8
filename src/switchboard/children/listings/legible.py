"""Listings without letters that nobody sees: a model reads them, and its user does not."""

from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard.wire.messages import encode
from switchkit.patterns import pattern

# More than any description needs, and less than a context window holds.
MOST_LETTERS = 32_000
_CUT = " … (cut)"
_WORDS = frozenset({"title", "description"})
_SCHEMAS = frozenset({"inputSchema", "outputSchema"})
_ANSI = pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)")
# Controls but for tabs and line ends, bidi and zero-width letters, tags, fillers, selectors of
# variants. One joiner, or one selector of how an emoji looks, is part of many an honest word.
_UNSEEN = pattern(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]|[\u200c\u200d\ufe0e\ufe0f]{2,}"
)

_read = msgspec.json.Decoder(dict[str, Any]).decode


def legible(entry: Raw) -> Raw:
    """An entry whose descriptions and titles say what they seem to; names and values stay."""
    text = bytes(entry)
    if len(text) <= MOST_LETTERS and text.isascii() and b"\\u" not in text:
        return entry
    try:
        said = _read(text)
    except msgspec.MsgspecError:
        # Whoever reads it says what is wrong with it.
        return entry
    shown = _shown(said, MOST_LETTERS)
    return entry if shown == said else Raw(encode(shown))


def _shown(value: Any, most: int | None, *, is_text: bool = False) -> Any:
    """What is seen of a value, its texts cut after so many letters."""
    if isinstance(value, str):
        return plain(value, most) if is_text else value
    if isinstance(value, list):
        return [_shown(each, most) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            # Arguments are checked by a schema, which is passed on whole.
            key: _shown(each, None if key in _SCHEMAS else most, is_text=key in _WORDS)
            for key, each in members.items()
        }
    return value


# How many letters may stand for one that is seen.
_MOST_UNSEEN = 8


def plain(text: str, most: int | None = MOST_LETTERS) -> str:
    """A text without letters that nobody sees, and no longer than allowed."""
    if most is not None:
        # What nobody is shown is not looked through: everybody waits for it.
        text = text[: most * _MOST_UNSEEN]
    text = _UNSEEN.sub("", _ANSI.sub("", text))
    if most is None or len(text) <= most:
        return text
    return text[: most - len(_CUT)] + _CUT
