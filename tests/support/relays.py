"""The relay mark: it says what a test shows to pass between a client and a child of which eras.

`docs/relay.md` has a table of all that; `python -m conformance.table` writes it from the tests that
passed. A mark with a feature or an era that is not listed here fails at import, so a typing error
never becomes a line of the table.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from support.requirements_record import RECORD, Record

RELAYED = RECORD.with_name("relayed.json")
MARK = "relays"

ERAS = ("handshake", "modern")
PAIRS = tuple(f"{client}→{child}" for client in ERAS for child in ERAS)
FEATURES = (
    "tools under their own names",
    "title, annotations, output schema, icons and `_meta` of tools",
    "structured content",
    "text, images and audio",
    "embedded and linked resources",
    "failures of tools",
    "pagination",
    "resources",
    "resource templates",
    "resource subscriptions",
    "prompts",
    "completion",
    "list changes",
    "progress",
    "logging",
    "elicitation by form",
    "elicitation by URL",
    "sampling",
    "roots",
    "cancellation by the client",
    "cancellation by the child",
    "ping",
    "caching hints",
    "arguments in headers",
    "long calls that report progress",
)


class Claim(NamedTuple):
    """One cell of the table: a feature, an era on each side, and what it becomes on the way."""

    feature: str
    eras: str
    how: str


def relays(feature: str, era: str | None = None, how: str = "yes") -> pytest.MarkDecorator:
    """Mark a test as proof that a feature is relayed.

    `era` is the client's and the child's, such as "handshake→modern"; without it the test has the
    parameters `client_era` and `child_era`. `how` is what the table says, where "yes" is too short.
    """
    if feature not in FEATURES:
        raise ValueError(f"no such feature: {feature!r} (see {__file__})")
    if era is not None and era not in PAIRS:
        raise ValueError(f"no such pair of eras: {era!r} (there are {', '.join(PAIRS)})")
    return pytest.mark.relays(feature, era, how)


def claims(item: pytest.Item) -> list[list[str]]:
    """Give what the marks of a test claim, in a shape that crosses process boundaries."""
    found: list[list[str]] = []
    for mark in item.iter_markers(MARK):
        feature, era, how = mark.args
        if era is None:
            assert isinstance(item, pytest.Function)
            params = item.callspec.params
            era = f"{params['client_era']}→{params['child_era']}"
            if era not in PAIRS:
                raise ValueError(f"{item.nodeid}: no such pair of eras: {era!r}")
        found.append([feature, era, how])
    return found


class RelayRecord(Record):
    """The claims of each test that ran, and whether it passed."""

    def proven(self) -> list[str]:
        """Give the claims that have a passing test and none that fails."""
        verdicts: defaultdict[str, list[bool]] = defaultdict(list)
        for test, found in self._ids.items():
            for claim in found:
                verdicts[claim].append(self._passed[test])
        return sorted(claim for claim, passed in verdicts.items() if all(passed))

    def table(self) -> str:
        """Lay out the proven claims as a table in Markdown; a cell without proof has a dash."""
        cells: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for text in self.proven():
            claim = Claim(*json.loads(text))
            cells[claim.feature, claim.eras].add(claim.how)
        heads = [pair.replace("→", " → ") for pair in PAIRS]
        lines = [f"| client → child | {' | '.join(heads)} |", "|---" * (len(PAIRS) + 1) + "|"]
        for feature in FEATURES:
            row = [" or ".join(sorted(cells[feature, pair])) or "—" for pair in PAIRS]
            lines.append(f"| {feature} | {' | '.join(row)} |")
        return "\n".join(lines) + "\n"


BEGIN = "<!-- relayed: `make relayed` writes what follows -->\n"
END = "<!-- relayed: end -->\n"
PAGE = Path(__file__).parents[2] / "docs" / "relay.md"


def with_table(page: str, table: str) -> str:
    """Put a table between the two comments of a page."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN.strip()} or {END.strip()}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def is_behind(record: RelayRecord, page: Path = PAGE) -> bool:
    """Tell whether a page says something else than the tests showed."""
    text = page.read_text("utf-8") if page.exists() else ""
    return BEGIN in text and with_table(text, record.table()) != text
