"""A summary keeps its limit and ends where a reader would end it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from switchboard.search.summaries import summarise

TEXTS = st.text(alphabet=st.sampled_from("ab .\n\té…"), max_size=400)


@requirement("S2.45")
@given(TEXTS | st.text(max_size=400), st.integers(min_value=1, max_value=200))
def test_a_summary_is_never_longer_than_its_limit_and_never_invents(text: str, limit: int) -> None:
    summary = summarise(text, limit)
    folded = " ".join(text.split())
    assert len(summary) <= limit
    assert folded.startswith(summary.removesuffix("..."))


@requirement("S2.66")
@given(TEXTS)
def test_a_text_within_the_limit_stays_as_it_is_but_for_white_space(text: str) -> None:
    folded = " ".join(text.split())
    assert summarise(text, max(len(folded), 1)) == folded


@requirement("S2.67")
@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Reads a file. Then it goes on and on.", 20, "Reads a file."),
        ("One. Two. Three. Four. Five.", 17, "One. Two. Three."),
        ("Ends here. x", 10, "Ends here."),
    ],
)
def test_a_longer_text_ends_at_the_last_full_stop_beyond_half_of_the_limit(
    text: str, limit: int, expected: str
) -> None:
    assert summarise(text, limit) == expected


@requirement("S2.68")
@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Hi. Then a long sentence without any end", 20, "Hi. Then a long..."),
        ("Adds two numbers and gives their sum back", 20, "Adds two numbers..."),
        ("Supercalifragilisticexpialidocious", 20, "Supercalifragilis..."),
        ("abcdef", 3, "abc"),
    ],
)
def test_without_such_a_stop_the_text_is_cut_at_a_word_and_ends_in_dots(
    text: str, limit: int, expected: str
) -> None:
    assert summarise(text, limit) == expected
