"""Writes the JSON Schemas: `python -m switchboard.settings.docs.schemas FOLDER [--check]`."""

import json
import sys
from pathlib import Path

from switchboard.settings.docs.jsonschema import schemas


def main(arguments: list[str]) -> int:
    """Write what has changed; with `--check`, only say what would."""
    check = "--check" in arguments
    folders = [word for word in arguments if not word.startswith("-")]
    folder = Path(folders[0] if folders else "schemas")
    stale = 0
    for name, schema in schemas().items():
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        path = folder / name
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale += 1
        if check:
            sys.stderr.write(f"error: `{path}` is not current\n")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
