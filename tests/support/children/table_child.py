"""A child that keeps what it is told in a database file, as those for SQLite do.

python table_child.py --db-path FILE
"""

import sqlite3
import sys

from tiny_server import Json, TinyServer, Tool, schema

TABLE = sqlite3.connect(sys.argv[2])
with TABLE:
    # Before it says anything, as many do.
    TABLE.execute("CREATE TABLE IF NOT EXISTS rows (text TEXT)")
    TABLE.execute("INSERT INTO rows VALUES ('a start')")


def add(args: Json) -> str:
    with TABLE:
        TABLE.execute("INSERT INTO rows VALUES (?)", (args["text"],))
    return str(TABLE.execute("SELECT count(*) FROM rows").fetchone()[0])


class Table(TinyServer):
    """One tool, which writes."""

    def __init__(self) -> None:
        super().__init__("table", {})
        self.tools |= {"add": Tool(add, "Adds a row.", schema(("text",), text="string"))}


if __name__ == "__main__":
    Table().run()
