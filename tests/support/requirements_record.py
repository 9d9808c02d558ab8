"""Which requirement or attack has a passing test: the record of runs, and what is told of it.

The record keeps one entry a test, so that a run of a few tests renews those entries only. A run of
the whole suite starts the record afresh.
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Self

from support.requirements import LAST_OF_SEED, attacks, manifest

RECORD = Path(__file__).parents[2] / ".run" / "requirements.json"


class Record:
    """The requirement ids of each test that ran, and whether that test passed."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}
        self._passed: dict[str, bool] = {}

    def note(self, test: str, ids: list[str], *, passed: bool) -> None:
        """Take one phase of one test; a test passes when each of its phases does."""
        self._ids[test] = ids
        self._passed[test] = passed and self._passed.get(test, True)

    def proven(self) -> list[str]:
        """Give the ids that have a passing test and none that fails, in the manifests' order."""
        verdicts: defaultdict[str, list[bool]] = defaultdict(list)
        for test, ids in self._ids.items():
            for id_ in ids:
                verdicts[id_].append(self._passed[test])
        known = (*manifest(), *attacks())
        return [id_ for id_ in known if verdicts[id_] and all(verdicts[id_])]

    def open_attacks(self) -> list[str]:
        """Give the attacks of which no test has shown that they get nowhere."""
        proven = set(self.proven())
        return [id_ for id_ in attacks() if id_ not in proven]

    def save(self, path: Path = RECORD, *, afresh: bool) -> None:
        """Write the record; unless it starts afresh, what other runs left there stays."""
        tests: dict[str, object] = {}
        merged = self
        if not afresh and path.exists():
            merged = type(self).load(path)
            merged._ids |= self._ids
            merged._passed |= self._passed
        for test, ids in sorted(merged._ids.items()):
            tests[test] = {"ids": ids, "passed": merged._passed[test]}
        path.parent.mkdir(exist_ok=True)
        scratch = path.with_name(f"{path.name}.{os.getpid()}")
        scratch.write_text(json.dumps({"proven": merged.proven(), "tests": tests}, indent=1))
        scratch.replace(path)

    @classmethod
    def load(cls, path: Path = RECORD) -> Self:
        record = cls()
        for test, entry in json.loads(path.read_text("utf-8"))["tests"].items():
            record.note(test, entry["ids"], passed=entry["passed"])
        return record


def summary(record: Record, *, missing: bool) -> str:
    """Say for each seed how many ids are proven, and with `missing` name the others."""
    proven = set(record.proven())
    lines: list[str] = []
    for seed, last in LAST_OF_SEED.items():
        of_seed = [req for req in manifest().values() if req.seed == seed]
        open_ = [req for req in of_seed if req.id not in proven]
        lines.append(
            f"seed {seed}: {last - len(open_):3} of {last} requirements have a passing test"
        )
        if missing:
            lines.extend(f"  {req.id}{' (soft)' * req.soft} {req.says}" for req in open_)
    total = sum(LAST_OF_SEED.values())
    lines.append(f"all:    {len(proven - attacks().keys()):3} of {total}")
    unshown = record.open_attacks()
    lines.append(
        f"attacks: {len(attacks()) - len(unshown)} of {len(attacks())} have a passing test"
    )
    if missing:
        lines.extend(f"  {id_} {attacks()[id_].says}" for id_ in unshown)
    return "\n".join(lines)


def main() -> int:
    if not RECORD.exists():
        sys.stderr.write("no test run has been recorded yet: run `make test` first\n")
        return 1
    missing = "--short" not in sys.argv[1:]
    sys.stdout.write(summary(Record.load(), missing=missing) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
