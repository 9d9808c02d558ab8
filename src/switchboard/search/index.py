"""An index of tools: BM25 over weighted fields, summed up when it is built.

How much a word says about a tool depends on the two alone, so that a search only adds up what was
worked out before. Weights and lengths are those of a study over 2,900 real tools.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest
from itertools import islice
from typing import NamedTuple

from switchboard.search.synonyms import SYNONYMS
from switchboard.search.words import squeezed, words

_SATURATION = 1.2
_SYNONYM_WEIGHT = 0.15
# Whoever says a tool's name means it, whatever else fits the words.
_EXACT = 100.0
# A tool all of whose name was said does more likely just that; of those that fit well anyway.
_WHOLE_NAME, _LOOKED_AT = 0.15, 64
# No text wins by length or by saying a word again and again.
_WORDS_OF_A_FIELD = 400
_TIMES_OF_A_WORD = 4
_WORDS_OF_A_QUERY = 200
_LONGEST_QUERY = 4_000
_WORD_OF_A_QUERY = re.compile(r"[\w./-]+")
# What tells a name from a word: `list_repos`, `git.status`, `listRepos`.
_MARK_OF_A_NAME = re.compile(r"\w[-./]\w|_|[a-z][A-Z]")


class FieldWeight(NamedTuple):
    """What words of one field count, and how much its length takes away from that."""

    weight: float
    length: float


_NAME, _SERVER = FieldWeight(3.0, 0.3), FieldWeight(2.0, 0.3)
_DESCRIPTION, _PARAMETERS = FieldWeight(1.0, 0.6), FieldWeight(0.5, 0.75)
_PARAMETER_TEXTS, _SERVER_TEXT = FieldWeight(0.25, 0.75), FieldWeight(0.3, 0.75)
_FIELDS = (_NAME, _SERVER, _DESCRIPTION, _PARAMETERS, _PARAMETER_TEXTS, _SERVER_TEXT)


class Searched(NamedTuple):
    """The texts of one tool that are searched."""

    server: str
    name: str
    description: str = ""
    parameters: tuple[str, ...] = ()
    parameter_texts: tuple[str, ...] = ()
    server_text: str = ""

    def texts(self) -> tuple[str, ...]:
        """The texts in the order of the fields."""
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


class Index:
    """Finds tools by words. Never changes: another catalogue has another index."""

    def __init__(self, tools: Sequence[Searched]) -> None:
        self._postings = _postings(tools)
        self._names = [frozenset(words(tool.name)) for tool in tools]
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
        query = query[:_LONGEST_QUERY]
        said = _weighted(query)
        scores: dict[int, float] = {}
        for word, weight in said.items():
            if postings := self._postings.get(word):
                for place, score in zip(postings.places, postings.scores, strict=True):
                    scores[place] = scores.get(place, 0.0) + weight * score
        for place, times in self._exact(query).items():
            scores[place] = scores.get(place, 0.0) + _EXACT * times
        if among is not None:
            scores = {place: scores[place] for place in among & scores.keys()}
        likely = nlargest(max(most, _LOOKED_AT), scores.items(), key=_rank)
        better = ((place, score * self._named_in(said, place)) for place, score in likely)
        return [Hit(place, score) for place, score in nlargest(most, better, key=_rank)]

    def _named_in(self, said: Mapping[str, float], place: int) -> float:
        """How much more a tool counts whose name, or part of it, was said word for word."""
        name = self._names[place]
        share = sum(said.get(word, 0.0) >= 1 for word in name) / len(name) if name else 0.0
        return 1 + _WHOLE_NAME * share

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


def _weighted(query: str) -> dict[str, float]:
    said = Counter(islice(words(query), _WORDS_OF_A_QUERY))
    weighted = {word: float(min(times, 2)) for word, times in said.items()}
    for word in said:
        for other in SYNONYMS.get(word, ()):
            if other not in said:
                weighted[other] = max(weighted.get(other, 0.0), _SYNONYM_WEIGHT)
    return weighted


def _postings(tools: Sequence[Searched]) -> dict[str, _Postings]:
    counted = [[_counted(text) for text in tool.texts()] for tool in tools]
    usual = [_mean(sum(fields[k].values()) for fields in counted) for k in range(len(_FIELDS))]
    places: dict[str, array[int]] = {}
    weights: dict[str, array[float]] = {}
    for place, fields in enumerate(counted):
        said: dict[str, float] = {}
        for field, found, mean in zip(_FIELDS, fields, usual, strict=True):
            length = sum(found.values()) / mean if mean else 0.0
            share = field.weight / (1 - field.length + field.length * length)
            for word, times in found.items():
                said[word] = said.get(word, 0.0) + share * times
        for word, weight in said.items():
            if word not in places:
                places[word], weights[word] = array("L"), array("d")
            places[word].append(place)
            weights[word].append(weight / (_SATURATION + weight))
    return {
        word: _Postings(held, _rated(weights[word], len(tools))) for word, held in places.items()
    }


def _rated(weights: "array[float]", size: int) -> "array[float]":
    held = len(weights)
    rarity = math.log((size - held + 0.5) / (held + 0.5) + 1)
    return array("d", (weight * rarity for weight in weights))


def _counted(text: str) -> Counter[str]:
    found = Counter(islice(words(text), _WORDS_OF_A_FIELD))
    for word, times in found.items():
        found[word] = min(times, _TIMES_OF_A_WORD)
    return found


def _mean(lengths: Iterable[int]) -> float:
    counted = list(lengths)
    return sum(counted) / len(counted) if counted else 0.0
