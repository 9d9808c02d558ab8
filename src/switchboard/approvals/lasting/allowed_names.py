"""Names as the user writes them into `[approvals] allow`: which tools of which servers they mean.

`server.tool`, with `*` for any letters and nothing else that is special. The server ends at the
first dot, as the names of tools have dots more often than those of servers. A server that has one
stands in quotation marks, as in a question: `"a.b".c` is the tool `c` of the server `a.b`, and
`a.b.c` the tool `b.c` of the server `a`.
"""

import re
from fnmatch import fnmatchcase

from msgspec import Struct

_PARTS = re.compile(r'(?:"(?P<quoted>[^"]+)"|(?P<plain>[^.]*))\.(?P<tool>.*)', re.DOTALL)


class AllowedName(Struct, frozen=True):
    """One such name."""

    server: str
    tool: str
    # As it is written.
    text: str = ""

    @classmethod
    def of(cls, text: str) -> "AllowedName":
        found = _PARTS.fullmatch(text)
        if found is None:
            return cls(text, "", text)
        return cls(found["quoted"] or found["plain"], found["tool"], text)

    def is_server(self, name: str) -> bool:
        """Whether it means this server."""
        return _fits(name, self.server)

    def covers(self, server: str, tool: str) -> bool:
        """Whether it means this tool of this server."""
        return _fits(server, self.server) and _fits(tool, self.tool)


def _fits(name: str, pattern: str) -> bool:
    # Only `*` is special: a server may well be named `a[1]`, and is not to lend its rule to `a1`.
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
