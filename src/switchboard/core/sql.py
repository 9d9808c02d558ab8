"""The little of SQL that tables need of a database, whichever it is.

Statements are written once, with `?` for values, in words that every engine understands.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class SqlRow(Protocol):
    """What a query found: values by the names of their columns."""

    def __getitem__(self, column: str, /) -> Any: ...


class Sql(Protocol):
    """One connection. Belongs to the thread that opened it."""

    def rows(self, query: str, /, *values: Any) -> Sequence[SqlRow]:
        """What a query finds."""
        ...

    def change(self, query: str, /, *values: Any) -> int:
        """Change rows at once, or as part of `together`. Gives how many."""
        ...

    def together(self, *, lasting: bool = False, over: str = "") -> AbstractContextManager[None]:
        """Let several reads and changes be one, which nobody sees half of, one after the other.

        A `lasting` one is on the disk afterwards, also where others may be undone by a power cut.
        With a name in `over`, only those wait for each other that hold the same.
        """
        ...

    def hold(self, name: str, /) -> None:
        """Inside `together`: wait for those that hold a name, and hold it to the end as well.

        Whoever needs all and a name begins with `together` of all.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
