"""Patterns of a project are tried on every line, whatever its services print."""

import re
import time

import pytest

from switchyard.config.line_patterns import pattern_problem

# A line that fits nearly, which is what takes long.
LINE = "a" * 4000 + "!"


@pytest.mark.parametrize(
    "text",
    [
        r"(?i)(password|token|secret)=\S+",
        r"ready in \d+(?:\.\d+)? ms",
        r"(?:\d{1,3}\.){3}\d{1,3}",
        r"(?:\w++\s*+)+$",
        r"(?>a+)*$",
        r"(?:a+)?$",
        r"(?:[0-9a-f]{32}\s)+",
        r"[(a+)+]+",
        r"\(a+\)+",
        r"(?P<name>a)+b",
        r"(?=a+)(b|c)*",
        r"",
    ],
)
def test_what_takes_no_longer_than_it_should_is_taken(text: str) -> None:
    assert pattern_problem(text) is None
    began = time.process_time()
    re.search(text, LINE)
    assert time.process_time() - began < 5, "and it was taken, although it takes long"


@pytest.mark.parametrize(
    "text",
    [
        r"(a+)+$",
        r"(?:a*)*?$",
        r"(?:(?:a+))*$",
        r"(?:a|b+)+$",
        r"(?P<name>\w+\s?)+$",
        r"(?:a+){2}$",
        r"(?:a+){1,50}$",
        r"(?:a{1,40}){2,}$",
        r"([a\]]+)+$",
        r"(\)+)+$",
    ],
)
def test_a_repetition_of_a_repetition_is_refused_with_what_to_write(text: str) -> None:
    told = pattern_problem(text)
    assert told is not None
    assert text in told
    assert "possessive" in told


def test_what_is_none_is_said_to_be_none() -> None:
    assert pattern_problem("(") == (
        "`(` is not a regular expression: missing ), unterminated subpattern at position 0"
    )
