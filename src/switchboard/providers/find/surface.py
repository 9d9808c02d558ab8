"""What a listing tells of all tools, so that it costs no more than its owner wants.

First a line for each of the tools that are used most, by which they are called in one trip, those
of servers and those that are in no suite alike; then whole tools and suites, while there is room.
A session is told the same for as long as it lasts: a listing that changes makes its host pay for
the whole prompt again.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.exposure import reading_name
from switchboard.core.catalog.addresses import address_of
from switchboard.core.catalog.tools import Outline, ToolSpec
from switchboard.core.identity_cache import IdentityCache
from switchboard.core.text.tokens import estimated_tokens
from switchboard.providers.find.specs import CALL, PROVIDER, READ
from switchboard.search.signature import signature
from switchboard.search.summaries import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from switchboard.children.listings.kept_words import Kept, KeptWords
    from switchboard.core.sessions import Session

# What a description may grow to once its server is known; see the words of suites.
_ROOM_TO_GROW = 60
# Claude Code cuts a description after so many letters.
_MOST_LETTERS = 2_048
# No suite says what a tool is for that is in none. One whose line is longer is better found.
_SUMMARY, _LONGEST_LINE = 60, 240
_HEADS = {CALL: " Known already:", READ: " Known already:"}


class Told(Struct, frozen=True):
    """What one session is told."""

    # The lines in the descriptions of the tools that call others.
    lines: dict[str, str]
    # The tools that are listed beside them.
    listed: frozenset[str]


class _Line(Struct, frozen=True):
    # The tool of the listing that it is about: a suite, or the very tool.
    listed: str
    # How calls of it are counted.
    key: str
    face: str
    text: str


class Surface:
    """The listing of one board within its budget."""

    def __init__(self, specs: Sequence[ToolSpec], tokens: int, kept: KeptWords) -> None:
        self._specs = [spec for spec in specs if spec.provider != PROVIDER and not spec.is_needed]
        # What is listed in any case. What finds and calls is beside the budget.
        self._needed = [spec for spec in specs if spec.provider != PROVIDER and spec.is_needed]
        self._tokens = tokens
        self._kept = kept
        # Of what is told before the lines.
        self._letters = {
            spec.name: len(spec.description) + len(_HEADS[spec.name])
            for spec in specs
            if spec.name in _HEADS
        }
        self._told: IdentityCache[Told] = IdentityCache()

    def arranged(self, specs: Sequence[ToolSpec]) -> list[ToolSpec]:
        """The tools, each of which knows what it shows to whom."""
        return [self._arranged(spec) for spec in specs]

    def _arranged(self, spec: ToolSpec) -> ToolSpec:
        if spec.is_needed:
            return spec
        if spec.provider != PROVIDER:
            return replace(spec, shown_to=partial(self._is_listed, spec))
        if spec.name in _HEADS:
            return replace(spec, wording=partial(self._described, spec))
        return spec

    def _is_listed(self, spec: ToolSpec, session: Session) -> bool:
        if spec.shown_to is not None and not spec.shown_to(session):
            return False
        return spec.name in self.told(session).listed

    def _described(self, spec: ToolSpec, session: Session) -> str:
        lines = self.told(session).lines.get(spec.name)
        return f"{spec.description}{_HEADS[spec.name]}\n{lines}" if lines else spec.description

    def told(self, session: Session) -> Told:
        """What this session is told, from its first listing to its end."""
        kept = self._kept.told(session.holder)
        # Hosts may be shown different tools.
        open_to = tuple(each for each in self._specs if each.is_shown_to(session))
        left = self._tokens - sum(_cost(each) for each in self._needed if each.is_shown_to(session))
        return self._told.get(
            (kept, *open_to), lambda: self._plan(session, kept, open_to, left), kind=str(left)
        )

    def _plan(self, session: Session, kept: Kept, open_to: Sequence[ToolSpec], left: int) -> Told:
        servers = _lines(session, open_to)
        chosen: dict[str, list[str]] = {CALL: [], READ: []}
        letters = dict(self._letters)
        # What needs no place of its own, because every tool of it is told.
        whole = {line.listed for line in chain.from_iterable(servers)}
        for line in _by_use(servers, kept.used):
            cost, length = estimated_tokens(line.text) + 1, len(line.text) + 1
            if cost <= left and letters[line.face] + length <= _MOST_LETTERS:
                left -= cost
                letters[line.face] += length
                chosen[line.face].append(line.text)
            else:
                whole.discard(line.listed)
        # By name and not by rank: who is used a little more or less changes nothing.
        told = {face: "\n".join(sorted(texts)) for face, texts in chosen.items() if texts}
        # What reads of a suite is told by the face of all, so a face of its own adds nothing.
        whole |= {reading_name(each) for each in whole}
        return Told(told, _fitting(open_to, left, is_told=whole.__contains__))


def _lines(session: Session, specs: Sequence[ToolSpec]) -> list[list[_Line]]:
    """A line for each tool that is known, those of one server or of one provider together."""
    servers = [
        [_line(spec, each) for each in spec.behind(session)]
        for spec in specs
        if spec.behind is not None
    ]
    own: dict[str, list[_Line]] = {}
    for spec in specs:
        if spec.behind is None and len(text := _told(spec, session)) <= _LONGEST_LINE:
            face = READ if spec.effects.only_reads else CALL
            own.setdefault(spec.provider, []).append(_Line(spec.name, spec.name, face, text))
    return [*servers, *own.values()]


def _told(spec: ToolSpec, session: Session) -> str:
    line = signature(spec.name, msgspec.json.decode(spec.input_schema))
    summary = summarise(spec.described_to(session), _SUMMARY)
    return " ".join(f"{line} - {summary}".split()) if summary else line


def _line(suite: ToolSpec, tool: Outline) -> _Line:
    return _Line(
        listed=suite.name,
        key=f"{suite.name}/{tool.name}",
        face=READ if tool.only_reads else CALL,
        text=address_of(suite.name, tool.signature),
    )


def _by_use(servers: list[list[_Line]], used: Sequence[str]) -> Iterator[_Line]:
    """The most used first; then of each server in turn, so that none takes all the room."""
    known = {line.key: line for line in chain.from_iterable(servers)}
    first = [known[key] for key in used if key in known]
    yield from first
    taken = {line.key for line in first}
    for turn in zip_longest(*servers):
        yield from (line for line in turn if line is not None and line.key not in taken)


def _fitting(
    specs: Sequence[ToolSpec], left: int, *, is_told: Callable[[str], bool]
) -> frozenset[str]:
    """Those for which the tokens suffice.

    From the first to the last, so that a tool more at the end changes nothing before it; and once
    one does not fit, what is cheaper does not take its place: one can tell why. Suites that tell
    nothing new come last, all of them or none: one alone would look like the only server.
    """
    fitting: list[str] = []
    for spec in specs:
        if is_told(spec.name):
            continue
        left -= _cost(spec)
        if left < 0:
            return frozenset(fitting)
        fitting.append(spec.name)
    told = [spec for spec in specs if is_told(spec.name)]
    if sum(map(_cost, told)) <= left:
        fitting += (spec.name for spec in told)
    return frozenset(fitting)


def _cost(spec: ToolSpec) -> int:
    text = f"{spec.name} {spec.title} {spec.description}"
    grown = _ROOM_TO_GROW if spec.wording is not None else 0
    return estimated_tokens(text) + estimated_tokens(bytes(spec.input_schema)) + grown
