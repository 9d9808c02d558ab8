"""What is worth telling of a server in the few words of a description."""

import re
from collections.abc import Iterable, Sequence

from switchboard.children.greeting import Greeting
from switchboard.children.listings.kept_words import ServerWords
from switchboard.search.summaries import summarise

_MOST_TITLE = 60
_MOST_ABOUT = 100
# More than are shown: some may be hidden where the description is read.
_MOST_TOOLS = 24
_LONGEST_NAME = 64
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def words_of(greeting: Greeting, tools: Iterable[str]) -> ServerWords:
    """What a server says of itself, and the names of its tools that tell most of it."""
    return ServerWords(
        title=summarise(greeting.title, _MOST_TITLE),
        about=summarise(greeting.instructions, _MOST_ABOUT),
        tools=tuple(telling([name for name in tools if len(name) <= _LONGEST_NAME])),
    )


def telling(names: Sequence[str]) -> list[str]:
    """The names in an order in which each says as much as can be that those before it do not."""
    said: set[str] = set()
    left = {name: {word.casefold() for word in _WORD.findall(name)} for name in names}
    chosen: list[str] = []
    while left and len(chosen) < _MOST_TOOLS:
        best = max(left, key=lambda name: (len(left[name] - said), -len(name)))
        said |= left.pop(best)
        chosen.append(best)
    return chosen
