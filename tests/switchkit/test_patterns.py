"""Patterns that are compiled late."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import switchboard
from switchkit.patterns import pattern

SOURCES = Path(switchboard.__file__).parents[1]


def users() -> list[str]:
    """The modules that have such patterns."""
    found = (
        path.relative_to(SOURCES).with_suffix("")
        for path in SOURCES.rglob("*.py")
        if "switchkit.patterns import" in path.read_text("utf-8")
    )
    return sorted(".".join(each.parts) for each in found)


def test_it_does_what_a_compiled_one_does() -> None:
    word = r"(?P<word>[a-z]+)"
    late, now = pattern(word, re.IGNORECASE), re.compile(word, re.IGNORECASE)
    for _ in range(2):
        assert late.findall("One two 3") == now.findall("One two 3") == ["One", "two"]
        assert late.sub("x", "One two 3") == "x x 3"
    assert isinstance(pattern("a"), re.Pattern)
    assert (late.pattern, late.flags, late.groupindex) == (now.pattern, now.flags, now.groupindex)


def test_nothing_is_compiled_before_it_is_used() -> None:
    with pytest.raises(re.error):
        pattern("(").match("")
    program = (
        "import re, sys; compile = re._compiler.compile; made = []\n"
        "re._compiler.compile = lambda text, flags=0: made.append(text) or compile(text, flags)\n"
        "from switchkit.patterns import pattern; late = pattern('ab+c')\n"
        "assert 'ab+c' not in made; late.match('abc'); late.match('abc')\n"
        "assert made.count('ab+c') == 1"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", users())
def test_every_pattern_of_ours_can_be_compiled(name: str) -> None:
    late = type(pattern(""))
    made = [each for each in vars(importlib.import_module(name)).values() if type(each) is late]
    assert made
    for each in made:
        assert re.compile(each.pattern, each.flags).groups == each.groups
