"""The marks that tie a test to what it proves: sentences of the seeds, and attacks that fail.

They stand in `tests/requirements/seed<N>.txt` and `attacks.txt`, one line an id. A mark with an id
that is not there fails when the test module is imported, so a typing error can never count as
coverage.
"""

import re
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

MANIFEST = Path(__file__).parents[1] / "requirements"
LAST_OF_SEED = {0: 153, 1: 78, 2: 108, 3: 121, 4: 91}

# How many there are of each kind, from 1 on, and those of which only some are ours to prove.
# PB are those that the second file of attacks calls B, as the first one does.
ATTACKS = {
    "B": 32,
    "N": 13,
    "R": 4,
    "S": 8,
    "D": 10,
    "W": 4,
    "A": 7,
    "F": 5,
    "X": 2,
    "T": 33,
    "PB": 4,
}
SINGLE_ATTACKS = (
    *("T40", "T41", "T42"),
    *("T50", "T51", "T52", "T53", "T54", "T55"),
    *("T56", "T57", "T58", "T59", "T60", "T61", "T62"),
    *("T63", "T64", "T65", "T66", "T67", "T68", "T69"),
    *("T70", "T71", "T72", "T73", "T74", "T75", "T76", "T77", "T78", "T79"),
    *("T80", "T81", "T82", "T83", "T84", "T85", "T86", "T87", "T88", "T89"),
    *("T90", "T91", "T92", "T93", "T94", "T95", "T96"),
    *("H20", "H21", "H22", "H23", "H24", "H31", "H33", "H37", "H60", "H64"),
    *("HB", "HP"),
    *("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8"),
    *("O1", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O10"),
)
# What the fixes keep to; for each of them attacks were invented afterwards.
RULES = 14

_ATTACK = re.compile(r"(?P<id>[A-Z]{1,2}\d{0,2}) (?:\((?P<rules>[\d, ]+)\) )?(?P<says>[^\s(].*)")
_LINE = re.compile(r"(?P<id>S[0-4]\.\d{2,3})(?P<soft>~?) (?P<says>\S.*)")


class Requirement(NamedTuple):
    """One sentence that a seed states; a soft one is implied or only recommended there."""

    id: str
    says: str
    soft: bool

    @property
    def seed(self) -> int:
        return int(self.id[1])


@cache
def manifest() -> dict[str, Requirement]:
    """Give every requirement by its id, in the order of the seeds."""
    found: dict[str, Requirement] = {}
    for seed in LAST_OF_SEED:
        path = MANIFEST / f"seed{seed}.txt"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not line or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line)
            if match is None or match["id"] in found or match["id"][1] != str(seed):
                raise ValueError(f"{path}:{number}: not a line for one new id of seed {seed}")
            requirement = Requirement(match["id"], match["says"], bool(match["soft"]))
            found[requirement.id] = requirement
    return found


class Attack(NamedTuple):
    """What is attempted, and which rules it tries to break, if it was invented for them."""

    says: str
    rules: frozenset[int]


@cache
def attacks() -> dict[str, Attack]:
    """Give every attack by its id."""
    found: dict[str, Attack] = {}
    path = MANIFEST / "attacks.txt"
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        match = _ATTACK.fullmatch(line)
        if line and not line.startswith("#"):
            if match is None or match["id"] in found:
                raise ValueError(f"{path}:{number}: not a line for one new attack")
            rules = frozenset(map(int, (match["rules"] or "").replace(",", " ").split()))
            found[match["id"]] = Attack(match["says"], rules)
    return found


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof of these ids."""
    return _mark("requirement", ids, manifest())


def attack(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof that these attacks get nowhere."""
    return _mark("attack", ids, attacks())


def _mark(kind: str, ids: tuple[str, ...], known: Container[str]) -> pytest.MarkDecorator:
    if unknown := [id_ for id_ in ids if id_ not in known]:
        raise ValueError(f"no such {kind}: {', '.join(unknown)} (see {MANIFEST})")
    if not ids:
        raise ValueError(f"a mark of a {kind} names at least one id")
    # One mark for both, so that one record says which of them have a passing test.
    return pytest.mark.requirement(*ids)
