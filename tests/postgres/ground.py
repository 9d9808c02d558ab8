"""Parts with a table or two, as other versions may have them."""

from switchboard.postgres.database import Part

ONE = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
TWO = "ALTER TABLE notes ADD COLUMN more TEXT NOT NULL DEFAULT 'more';"


def part(*steps: str) -> Part:
    return Part("notes", steps)
