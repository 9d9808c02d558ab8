"""Words of ours beside results of tools."""

from typing import Any

import pytest

from switchboard.core.calls.notes import with_note

NOTE = {"type": "text", "text": "by the way"}
STRUCTURED = {"rows": [1, 2]}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        # The same in a text: once is enough.
        ([text('{"rows": [1, 2]}')], [text('{"rows": [1, 2]}'), NOTE]),
        # Something else, or nothing: then the structure is a text before it.
        ([text("two rows")], [text('{"rows":[1,2]}'), text("two rows"), NOTE]),
        ([], [text('{"rows":[1,2]}'), NOTE]),
        (None, [text('{"rows":[1,2]}'), NOTE]),
        ([{"type": "image"}], [text('{"rows":[1,2]}'), {"type": "image"}, NOTE]),
    ],
)
def test_what_is_structured_becomes_a_text_before_the_note(content: Any, told: Any) -> None:
    result = {"content": content, "structuredContent": STRUCTURED, "_meta": {"a": 1}}
    assert with_note(result, "by the way", is_promised=False) == {
        "content": told,
        "_meta": {"a": 1},
    }


def test_what_was_promised_stays_and_what_has_no_structure_gets_the_note_alone() -> None:
    result = {"content": [text("x")], "structuredContent": STRUCTURED}
    kept = with_note(result, "by the way", is_promised=True)
    assert kept == {**result, "content": [text("x"), NOTE]}
    plain = with_note({"content": [text("x")]}, "by the way", is_promised=False)
    assert plain == {"content": [text("x"), NOTE]}
