"""Parts with a table or two, as other versions may have them."""

from switchboard.postgres.database import Addition, Part

ONE = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
TWO = "ALTER TABLE notes ADD COLUMN more TEXT NOT NULL DEFAULT 'more';"


MORE = Addition("ALTER TABLE notes ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;")


def part(*steps: str | Addition) -> Part:
    return Part("notes", steps)
