"""A request in weights: how much each of its words, and of its neighbouring words, says.

People and models begin with what they want and end with particulars; what stands in quotes, and
addresses and paths, are values that the tool will be given, and say little about which tool it is.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from switchboard.search.actions import asked_for
from switchboard.search.synonyms import synonyms
from switchboard.search.words import joined_names, words

LONGEST = 4_000
_MOST_WORDS = 200
_MOST_PAIRS = 40
# A word that is said again says a little more, and after that nothing.
_TIMES_OF_A_WORD = 2
_SYNONYM = 0.15
_VALUE = 0.4
# What the first word counts more than each of the later ones, and what the last still counts.
_LATER, _LEAST = 0.1, 0.6
_QUOTED = re.compile(
    r"""("[^"\n]{1,300}"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w))"""
)


class Query(NamedTuple):
    """What was asked for."""

    # What each word counts that was said, and each that was not said and means the same.
    said: dict[str, float]
    meant: dict[str, float]
    # The same of two words that were said one after the other.
    pairs: dict[tuple[str, str], float]
    # What is to be done.
    actions: frozenset[str]


def read_query(text: str) -> Query:
    """A request as the index takes it. What is longer than any request is not read."""
    text = text[:LONGEST]
    said: dict[str, float] = {}
    times: dict[str, int] = {}
    order: list[str] = []
    for place, (word, weight) in enumerate(_weighed(text)):
        if place == _MOST_WORDS:
            break
        order.append(word)
        times[word] = times.get(word, 0) + 1
        if times[word] <= _TIMES_OF_A_WORD:
            later = max(_LEAST, 1 / (1 + _LATER * place))
            said[word] = said.get(word, 0.0) + weight * later
    meant = dict.fromkeys(joined_names(text), 1.0)
    alike = synonyms()
    for word, weight in said.items():
        for other in alike.get(word, ()):
            if other not in said:
                meant[other] = max(meant.get(other, 0.0), _SYNONYM * min(1.0, weight))
    pairs = {pair: min(map(said.__getitem__, pair)) for pair in pairwise(order[:_MOST_PAIRS])}
    return Query(said, meant, pairs, asked_for(_QUOTED.sub(" ", text)))


def _weighed(text: str) -> Iterator[tuple[str, float]]:
    """The words in their order, with what they count where they stand."""
    for at, part in enumerate(_QUOTED.split(text)):
        # Every second part is a quotation.
        if at % 2:
            yield from ((word, _VALUE) for word in words(part))
            continue
        for token in part.split():
            weight = _VALUE if _is_value(token) else 1.0
            yield from ((word, weight) for word in words(token))


def _is_value(token: str) -> bool:
    """Whether it is an address, a path or a number that no name has."""
    return "://" in token or "@" in token or token.count("/") > 1 or token.startswith("0x")
