"""The JSON Schema of every report. Run as a module it writes them to `schemas/reports`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from switchboard.cli.report import Report, Silent
from switchboard.cli.table import VERBS, loaded

# What clients launch, and most commands, do without them, so their modules do not load them.
_LATE = (
    "switchboard.cli.verbs.parts.auth.reports",
    "switchboard.cli.verbs.parts.approving.phone_serving",
    "switchboard.cli.verbs.parts.approving.device_list",
)


def report_schemas() -> dict[str, dict[str, Any]]:
    """Each schema by the name of its file."""
    for module in (*(verb.module for verb in VERBS.values()), *_LATE):
        loaded(module)
    found: dict[str, dict[str, Any]] = {}
    for kind in _kinds(Report):
        if kind is Silent:
            continue
        tag = str(kind.__struct_config__.tag)
        name, _, number = tag.removeprefix("switchboard.").partition("/")
        schema = msgspec.json.schema(kind)
        found[f"{name}.{number}.schema.json"] = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **schema,
        }
    return dict(sorted(found.items()))


def _kinds(base: type[Report]) -> Iterator[type[Report]]:
    """Every kind of report, those of a kind included."""
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


def main(arguments: list[str]) -> int:
    """Write what has changed into a folder."""
    folder = Path(arguments[0] if arguments else "schemas/reports")
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in report_schemas().items():
        (folder / name).write_text(schema_text(schema), "utf-8")
    return 0


def schema_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
