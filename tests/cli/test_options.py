"""The reader of command lines, on its own."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS, loaded
from switchkit.cli.usage import (
    Option,
    Usage,
    UsageError,
    Word,
    read_arguments,
    split_verb,
)

USAGE = Usage(
    verb="try",
    summary="",
    words=(Word(name="NAME", about=""), Word(name="MORE", about="", optional=True, many=True)),
    options=(
        Option(name="fast", about=""),
        Option(name="level", value="N", about="", choices=("1", "2")),
        Option(name="env", value="K=V", about="", many=True),
    ),
    rest="COMMAND…",
)
WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["--", "-", "--fast", "--level", "--level=1", "-C", "--json", "-h", "--env"]
        ),
        st.text(max_size=6),
        st.text(max_size=6).map(lambda text: f"--{text}"),
    ),
    max_size=8,
)


def test_options_and_words_may_be_mixed() -> None:
    words = ["--fast", "a", "--env", "X=1", "b", "--env=Y=2=3", "-C", "dir", "--", "run", "--fast"]
    read = read_arguments(PROGRAM, USAGE, words)
    assert read.switches == {"fast"}
    assert read.values == {"env": ("X=1", "Y=2=3"), "workspace": ("dir",)}
    assert read.words == ("a", "b")
    assert read.rest == ("run", "--fast")
    assert (read.has("fast"), read.has("env"), read.has("level")) == (True, True, False)
    assert (read.one("workspace"), read.one("level"), read.word(1), read.word(9)) == (
        "dir",
        None,
        "b",
        "",
    )


def test_of_two_values_the_later_one_counts() -> None:
    assert read_arguments(PROGRAM, USAGE, ["a", "--level", "1", "--level", "2"]).one("level") == "2"


def test_a_lone_dash_is_a_word_and_a_value() -> None:
    read = read_arguments(PROGRAM, USAGE, ["-", "--env", "-"])
    assert (read.words, read.one("env")) == (("-",), "-")


def test_without_a_rest_two_dashes_only_end_the_options() -> None:
    usage = Usage(verb="try", summary="", words=(Word(name="NAME", about=""),))
    assert read_arguments(PROGRAM, usage, ["--", "--strange"]).words == ("--strange",)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a", "--level", "3"],
        ["a", "--level"],
        ["a", "--fast=1"],
        ["a", "--nothing"],
        ["a", "-x"],
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        read_arguments(PROGRAM, USAGE, words)


def test_help_needs_nothing_else() -> None:
    assert read_arguments(PROGRAM, USAGE, ["--help"]).has("help")


def test_the_verb_is_the_first_word_that_is_no_option() -> None:
    assert split_verb(PROGRAM, ["-C", "list", "--json", "call", "x"]) == (
        "call",
        ["-C", "list", "--json", "x"],
    )
    assert split_verb(PROGRAM, ["--workspace=x", "list"]) == ("list", ["--workspace=x"])
    assert split_verb(PROGRAM, ["--help"]) == ("", ["--help"])


@given(verb=st.sampled_from(sorted(VERBS)), words=WORDS)
def test_any_words_are_read_or_refused(verb: str, words: list[str]) -> None:
    usage: Usage = loaded(VERBS[verb].module).USAGE
    with suppress(UsageError):
        read = read_arguments(PROGRAM, usage, words)
        assert {*read.rest, *read.words} <= set(words)
