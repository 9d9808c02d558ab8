"""Writes the table of what is relayed into docs/relay.md, from the tests that passed last.

Usage: python -m conformance.table
"""

import sys

from support.relays import PAGE, RELAYED, RelayRecord, with_table


def main() -> int:
    if not RELAYED.exists():
        sys.stderr.write("no test run has been recorded yet: run `make test` first\n")
        return 1
    page = PAGE.read_text("utf-8")
    PAGE.write_text(with_table(page, RelayRecord.load(RELAYED).table()), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
