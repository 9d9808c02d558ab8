"""How much the last run of all tests reached, a line for each package, and whether it is enough."""

import json
import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage

CHECKOUT = Path(__file__).parents[2]


def _package(file: str) -> str:
    """`src/switchboard/core/faults.py` as `switchboard/core`; the other products are one each."""
    _, product, *rest = file.split("/")
    return f"{product}/{rest[0]}" if product == "switchboard" and len(rest) > 1 else product


def main() -> int:
    """Print the table; its exit code is 1 below the floor that is given, or that of the project."""
    coverage = Coverage(config_file=str(CHECKOUT / "pyproject.toml"))
    coverage.load()
    report = CHECKOUT / ".run" / "coverage" / "report.json"
    total = coverage.json_report(outfile=str(report))
    reached, existing = Counter[str](), Counter[str]()
    for file, found in json.loads(report.read_text())["files"].items():
        told = found["summary"]
        reached[_package(file)] += told["covered_lines"] + told["covered_branches"]
        existing[_package(file)] += told["num_statements"] + told["num_branches"]
    for package in sorted(existing):
        print(f"{100 * reached[package] / max(existing[package], 1):5.1f}%  {package}")  # noqa: T201
    floor = float(next(iter(sys.argv[1:]), str(coverage.get_option("report:fail_under"))))
    print(f"{total:5.1f}%  of all lines and branches; the floor is {floor:g}%")  # noqa: T201
    return int(total < floor)


if __name__ == "__main__":
    sys.exit(main())
