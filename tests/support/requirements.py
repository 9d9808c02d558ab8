"""The requirement mark: it ties a test to the sentences of the seeds that the test proves.

The sentences stand in `tests/requirements/seed<N>.txt`, one line an id. A mark with an id that is
not there fails when the test module is imported, so a typing error can never count as coverage.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

MANIFEST = Path(__file__).parents[1] / "requirements"
LAST_OF_SEED = {0: 153, 1: 78, 2: 108, 3: 121, 4: 91}

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


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof of these ids."""
    known = manifest()
    if unknown := [id_ for id_ in ids if id_ not in known]:
        raise ValueError(f"no such requirement: {', '.join(unknown)} (see {MANIFEST})")
    if not ids:
        raise ValueError("a requirement mark names at least one id")
    return pytest.mark.requirement(*ids)
