"""A long result in few words: what it is, its beginning and its end, and how to read the rest."""

from collections.abc import Iterable, Sequence
from typing import Any

from switchboard.core.text.tokens import estimated_tokens
from switchboard.results.document import lines_of, text_of
from switchboard.results.inlining import READ_RESULT, Share
from switchboard.results.shape import shape_of

# What a long result is worth unasked: its beginning tells most. A failure is told as far as it may.
_SHARE_SHOWN = 4
_SHARE_OF_TAIL = 4
# What the words around it may cost.
_FRAME_TOKENS = 250
_LEAST_TOKENS = 40


def excerpt(document: Any, handle: str, share: Share, *, is_error: bool) -> str:
    """What the model is told in place of a result. It fits the share."""
    text = text_of(document)
    lines = lines_of(text)
    about = (
        f"{len(text):,} characters in {len(lines):,} lines, about {estimated_tokens(text):,} tokens"
    )
    shape = "" if isinstance(document, str) else f"\nShape: {shape_of(document)}"
    tokens = share.tokens if is_error else share.tokens // _SHARE_SHOWN
    tokens = max(_LEAST_TOKENS, tokens - (_FRAME_TOKENS if is_error else 0))
    while True:
        shown = _ends(lines, tokens, of_tail=2 if is_error else _SHARE_OF_TAIL)
        told = (
            f"[Switchboard keeps this result as {handle}: {about}. `{READ_RESULT}` gives parts of"
            f" it.]{shape}\n{shown}"
        )
        if share.holds(told) or tokens <= _LEAST_TOKENS:
            return told
        tokens //= 2


def _ends(lines: Sequence[str], tokens: int, *, of_tail: int) -> str:
    """The first and the last lines, for so many tokens."""
    tail = _fitting(reversed(lines), tokens // of_tail)
    head = _fitting(lines, tokens - tokens // of_tail)
    if head + tail >= len(lines):
        head = max(1, len(lines) - tail - 1) if len(lines) > 1 else 1
    left = f"[… lines {head + 1:,} to {len(lines) - tail:,} are left out …]"
    # One line may be more than there is room for.
    first = list(lines[:head]) or [_cut(lines[0], tokens)]
    return "\n".join((*first, left, *lines[len(lines) - tail :]))


def _fitting(lines: Iterable[str], tokens: int) -> int:
    """How many lines fit."""
    count = 0
    for line in lines:
        tokens -= estimated_tokens(line) + 1
        if tokens < 0:
            break
        count += 1
    return count


def _cut(line: str, tokens: int) -> str:
    """The beginning of a line."""
    return f"{line[: max(_LEAST_TOKENS, tokens)]}…"
