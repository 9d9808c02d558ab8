"""What is worth telling of a server in the few words of a description."""

from collections.abc import Iterator, Sequence

import msgspec

from switchboard.children.greeting import Greeting
from switchboard.children.listings.host_rules import refused_tools
from switchboard.children.listings.kept_words import ServerWords
from switchboard.children.listings.legible import plain
from switchboard.children.listings.listing import ToolListing
from switchboard.core.catalog.tools import Outline
from switchboard.core.text.tokens import estimated_tokens
from switchboard.search.signature import signature
from switchboard.search.summaries import summarise
from switchkit.patterns import pattern

_MOST_TITLE = 60
_MOST_ABOUT = 100
# More than are shown: some may be hidden where the description is read.
_MOST_TOOLS = 24
_LONGEST_OUTLINE, _MOST_OUTLINED = 240, 8_000
# A name that can be told from what stands around it.
_ADDRESSED = pattern(r"[\w./:-]{1,64}")
_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def words_of(
    greeting: Greeting, listing: ToolListing, *, trusts_annotations: bool = True
) -> ServerWords:
    """What a server says of itself, and its tools: names that tell most of it, and outlines."""
    return ServerWords(
        title=summarise(greeting.title, _MOST_TITLE),
        about=summarise(greeting.instructions, _MOST_ABOUT),
        tools=tuple(telling([name for name in listing.tools if _ADDRESSED.fullmatch(name)])),
        outlines=tuple(_outlines(listing, trusts_annotations=trusts_annotations)),
        refused=refused_tools(listing),
    )


def _outlines(listing: ToolListing, *, trusts_annotations: bool) -> Iterator[Outline]:
    room = _MOST_OUTLINED
    for name, tool in listing.tools.items():
        line = plain(" ".join(signature(name, msgspec.json.decode(tool.input_schema)).split()))
        # One that is longer is better found: `find_tool` tells what its parameters are for.
        if len(line) > _LONGEST_OUTLINE or not _ADDRESSED.fullmatch(name):
            continue
        room -= len(line)
        if room < 0:
            return
        said = tool.annotations
        only_reads = said is not None and trusts_annotations and said.effects.only_reads
        text = f"{name} {tool.description or ''}"
        cost = estimated_tokens(text) + estimated_tokens(bytes(tool.input_schema))
        yield Outline(name, line, only_reads, cost)


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
