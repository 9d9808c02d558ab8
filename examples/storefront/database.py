"""The database of this branch, which Switchyard names in DATABASE_URL."""

import os
from typing import Any

import psycopg
from psycopg.rows import dict_row


def query(sql: str, *values: object) -> list[dict[str, Any]]:
    """Run one statement, and give its rows."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        cursor = connection.cursor(row_factory=dict_row).execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []
