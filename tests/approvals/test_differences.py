"""The difference of two texts, as a person reads it: nothing added stays unseen."""

from switchboard.approvals.differences import difference


def _text(lines: list[str]) -> str:
    return "\n".join(lines)


def test_of_long_texts_a_small_change_is_shown_where_it_is() -> None:
    before = [f"line {k}" for k in range(5_000)]
    after = [*before[:4_000], "new", *before[4_001:]]
    assert difference(_text(before), _text(after)) == (
        "…",
        " line 3999",
        "-line 4000",
        "+new",
        " line 4001",
    )


def test_a_line_that_was_there_before_and_comes_once_more_is_shown() -> None:
    before = ["first", *(f"line {k}" for k in range(2_000)), "last"]
    after = ["1st", "line 7", *before[1:-1], "line 8", "the last"]
    assert sorted(difference(_text(before), _text(after))) == sorted(
        ["-first", "-last", "+1st", "+line 7", "+line 8", "+the last"]
    )


def test_an_empty_side_is_all_taken_away_or_all_added() -> None:
    assert difference("a\nb", "")[-2:] == ("-a", "-b")
    assert difference("", "a\nb")[-2:] == ("+a", "+b")
    assert difference("a\na\na", "a\na") != ()
