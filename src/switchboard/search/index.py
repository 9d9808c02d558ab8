"""An index of tools: BM25 over weighted fields, summed up when it is built.

How much a word says about a tool depends on the two alone, so that a search only adds up what was
worked out before. Weights and lengths are those of a study over 2,900 real tools.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from switchboard.search.actions import agreement, done_by
from switchboard.search.query import LONGEST, Query, read_query
from switchboard.search.words import squeezed, words

_SATURATION = 1.2
# Whoever says a tool's name means it: more than all words of the longest query together.
_EXACT = 10_000.0
# Those that fit well are looked at more closely: a tool all of whose name was said does more likely
# just that, and so does one that has words one after the other as they were said.
_LOOKED_AT = 64
_WHOLE_NAME, _PAIR = 0.15, 0.2
_WORDS_IN_ORDER = 60
# No text wins by length or by saying a word again and again.
_WORDS_OF_A_FIELD = 400
_TIMES_OF_A_WORD = 4
_WORD_OF_A_QUERY = re.compile(r"[\w./-]+")
# What tells a name from a word: `list_repos`, `git.status`, `listRepos`.
_MARK_OF_A_NAME = re.compile(r"\w[-./]\w|_|[a-z][A-Z]")
# What the words of each field count, in the order of `Searched.texts`, and how much of that the
# length of the field takes away.
_FIELDS = ((3.0, 0.3), (2.0, 0.3), (1.0, 0.6), (0.5, 0.75), (0.25, 0.75), (0.3, 0.75))


class Searched(NamedTuple):
    """The texts of one tool that are searched."""

    server: str
    name: str
    description: str = ""
    parameters: tuple[str, ...] = ()
    parameter_texts: tuple[str, ...] = ()
    server_text: str = ""

    def texts(self) -> tuple[str, ...]:
        """The texts in the order of their weights."""
        return (
            self.name,
            self.server,
            self.description,
            " ".join(self.parameters),
            " ".join(self.parameter_texts),
            self.server_text,
        )


class Hit(NamedTuple):
    """A tool that was found, by its place among those that were indexed."""

    place: int
    score: float


class _Postings(NamedTuple):
    """The tools that have a word, and what the word says about each."""

    places: "array[int]"
    scores: "array[float]"
    # How much it says at all: the fewer have it, the more.
    rarity: float


class _Closer(NamedTuple):
    """What is looked at of a tool that fits well."""

    name: frozenset[str]
    # Its name and the beginning of its description, stem by stem.
    in_order: str
    actions: frozenset[str]


class Index:
    """Finds tools by words. Never changes: another catalogue has another index."""

    def __init__(self, tools: Sequence[Searched]) -> None:
        self._postings = _postings(tools)
        self._closer = [_closer(tool) for tool in tools]
        self._named: dict[str, list[int]] = {}
        self._addressed: dict[str, list[int]] = {}
        for place, tool in enumerate(tools):
            for name in {squeezed(tool.name), squeezed(tool.server + tool.name)}:
                self._named.setdefault(name, []).append(place)
            self._addressed.setdefault(f"{tool.server}.{tool.name}", []).append(place)

    def search(
        self, query: str, most: int = 10, among: AbstractSet[int] | None = None
    ) -> list[Hit]:
        """The tools that fit best, the best first; those whose name was said before all others.

        `among` are the places that count, where not all of them do.
        """
        asked = read_query(query)
        scores: dict[int, float] = {}
        for word, weight in (*asked.said.items(), *asked.meant.items()):
            if postings := self._postings.get(word):
                for place, score in zip(postings.places, postings.scores, strict=True):
                    scores[place] = scores.get(place, 0.0) + weight * score
        exact = self._exact(query[:LONGEST])
        for place in exact:
            scores.setdefault(place, 0.0)
        if among is not None:
            scores = {place: scores[place] for place in among & scores.keys()}
        likely = dict(nlargest(max(most, _LOOKED_AT), scores.items(), key=_rank))
        likely |= {place: scores[place] for place in exact if place in scores}
        pairs = [
            (f" {one} {other} ", weight * self._rarity(one, other))
            for (one, other), weight in asked.pairs.items()
        ]
        better = (
            (place, self._looked_at(score, place, asked, pairs) + _EXACT * exact[place])
            for place, score in likely.items()
        )
        return [Hit(place, score) for place, score in nlargest(most, better, key=_rank)]

    def _looked_at(
        self, score: float, place: int, asked: Query, pairs: Sequence[tuple[str, float]]
    ) -> float:
        """The score with what is not in single words: their order, the name, what is to be done."""
        tool = self._closer[place]
        score += _PAIR * sum(weight for text, weight in pairs if text in tool.in_order)
        share = sum(word in asked.said for word in tool.name) / max(len(tool.name), 1)
        return score * (1 + _WHOLE_NAME * share) * agreement(asked.actions, tool.actions)

    def _rarity(self, *pair: str) -> float:
        return _mean(self._postings[word].rarity if word in self._postings else 0 for word in pair)

    def _exact(self, query: str) -> Counter[int]:
        """Those whose name the query is, or holds as a word that is plainly a name.

        Names that are spelled alike are told apart by the whole address, where that was said.
        """
        names = {squeezed(query)}
        addresses = {query.strip()}
        for said in _WORD_OF_A_QUERY.findall(query):
            if _MARK_OF_A_NAME.search(said):
                names.add(squeezed(said))
                addresses.add(said.rstrip("."))
        named = {place for name in names for place in self._named.get(name, ())}
        found = Counter(named)
        for address in addresses:
            found.update(self._addressed.get(address, ()))
        return found


def _rank(found: tuple[int, float]) -> tuple[float, int]:
    # Of equals the first of the catalogue, so that an answer never depends on chance.
    place, score = found
    return score, -place


def _closer(tool: Searched) -> _Closer:
    name = words(tool.name)
    described = islice(words(tool.description), _WORDS_IN_ORDER)
    # Words on either side of a gap are no neighbours.
    in_order = f" {' '.join(name)}  {' '.join(described)} "
    return _Closer(frozenset(name), in_order, done_by(tool.name, tool.description))


def _postings(tools: Sequence[Searched]) -> dict[str, _Postings]:
    counted = [[_counted(text) for text in tool.texts()] for tool in tools]
    usual = [_mean(sum(fields[k].values()) for fields in counted) for k in range(len(_FIELDS))]
    places: dict[str, array[int]] = {}
    weights: dict[str, array[float]] = {}
    for place, fields in enumerate(counted):
        said: dict[str, float] = {}
        for (counts, by_length), found, mean in zip(_FIELDS, fields, usual, strict=True):
            length = sum(found.values()) / mean if mean else 0.0
            share = counts / (1 - by_length + by_length * length)
            for word, times in found.items():
                said[word] = said.get(word, 0.0) + share * times
        for word, weight in said.items():
            if word not in places:
                places[word], weights[word] = array("L"), array("d")
            places[word].append(place)
            weights[word].append(weight / (_SATURATION + weight))
    return {word: _rated(held, weights[word], len(tools)) for word, held in places.items()}


def _rated(places: "array[int]", weights: "array[float]", size: int) -> _Postings:
    held = len(weights)
    rarity = math.log((size - held + 0.5) / (held + 0.5) + 1)
    return _Postings(places, array("d", (weight * rarity for weight in weights)), rarity)


def _counted(text: str) -> Counter[str]:
    found = Counter(islice(words(text), _WORDS_OF_A_FIELD))
    for word, times in found.items():
        found[word] = min(times, _TIMES_OF_A_WORD)
    return found


def _mean(values: Iterable[float]) -> float:
    counted = list(values)
    return sum(counted) / len(counted) if counted else 0.0
