"""Tools by what they are for: the few that fit a query, or the honest word that none does."""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, cast

from switchboard.search.index import Hit, Index, Searched
from switchboard.search.words import squeezed, words

# Nearly always the right tool is among those that score this much of the best.
_NEAR = 0.65
_FEWEST, _MOST = 2, 8
# A sentence of which no more fits than this, by the size of the catalogue, is about something else.
# Of a few words, one that fits is enough.
_LEAST, _SENTENCE = 0.45, 4
# Unless it says most of a tool's name.
_WORDS_OF_A_NAME = 2
_DOCUMENTED = 64
# How the name of a server's suite ends, in any spelling.
_SUITE = "suite"


class FoundTool(NamedTuple):
    """A tool as the search knows it. A tool of no server has an empty one."""

    server: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = {}

    @property
    def address(self) -> str:
        """What it is called by: `server.tool`."""
        return f"{self.server}.{self.name}" if self.server else self.name


class Scored(NamedTuple):
    tool: FoundTool
    score: float
    # Where it stands among the tools that are searched.
    place: int


class Findings(NamedTuple):
    """What a query found, the best first."""

    found: tuple[Scored, ...] = ()
    # Nothing else comes near the first.
    is_sure: bool = False


class Finder:
    """Finds among the tools of one catalogue."""

    def __init__(
        self, tools: Sequence[FoundTool], server_texts: Mapping[str, str] | None = None
    ) -> None:
        self._tools = tools
        self._places: dict[str, set[int]] = {}
        for place, tool in enumerate(tools):
            self._places.setdefault(squeezed(tool.server), set()).add(place)
        texts = server_texts or {}
        self._index = Index([_searched(tool, texts.get(tool.server, "")) for tool in tools])

    def ranked(self, query: str, most: int) -> list[Scored]:
        """The best in their order, however little they fit."""
        return self._scored(self._index.search(query, most))

    def find(self, query: str, server: str = "", most: int = 0) -> Findings:
        """Those that are worth reading: two to eight by score, or as many as were asked for."""
        among = self._of(server) if server else None
        hits = self._index.search(query, max(most, _MOST), among)
        if not hits or not self._is_about(query, hits[0]):
            return Findings()
        best = hits[0].score
        near = sum(hit.score >= _NEAR * best for hit in hits)
        kept = hits[: most or min(max(near, _FEWEST), _MOST)]
        return Findings(tuple(self._scored(kept)), is_sure=near == 1)

    def knows(self, server: str) -> bool:
        """Whether any tool is of this server."""
        return bool(self._of(server))

    def _of(self, server: str) -> AbstractSet[int]:
        """The tools of a server, by its name in any spelling or by that of its suite."""
        name = squeezed(server)
        return self._places.get(name) or self._places.get(name.removesuffix(_SUITE), frozenset())

    def _is_about(self, query: str, best: Hit) -> bool:
        """Whether the best fits at all. Where many names have the same words, each says little."""
        said = set(words(query))
        if len(said) < _SENTENCE or best.score >= _LEAST * math.log(len(self._tools) + 1):
            return True
        name = set(words(self._tools[best.place].name))
        common = len(name & said)
        return common >= _WORDS_OF_A_NAME and 2 * common > len(name)

    def _scored(self, hits: Sequence[Hit]) -> list[Scored]:
        return [Scored(self._tools[hit.place], hit.score, hit.place) for hit in hits]


def _searched(tool: FoundTool, server_text: str) -> Searched:
    properties = tool.input_schema.get("properties")
    known = (
        list(cast("Mapping[str, Any]", properties).items())[:_DOCUMENTED]
        if isinstance(properties, Mapping)
        else []
    )
    texts = (
        cast("Mapping[str, Any]", member).get("description")
        for _, member in known
        if isinstance(member, Mapping)
    )
    return Searched(
        tool.server,
        tool.name,
        tool.description,
        tuple(name for name, _ in known),
        tuple(text for text in texts if isinstance(text, str)),
        server_text,
    )
