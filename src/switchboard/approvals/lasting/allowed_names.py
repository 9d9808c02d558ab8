"""Names as the user writes them into `[approvals] allow`: which tools of which servers they mean.

`server.tool`, with `*` for any letters and nothing else that is special. The server ends at the
first dot, as the names of tools have dots more often than those of servers. A server that has one
stands in quotation marks, as in a question: `"a.b".c` is the tool `c` of the server `a.b`, and
`a.b.c` the tool `b.c` of the server `a`.
"""

import re

from msgspec import Struct

from switchboard.core.catalog.visibility import fits
from switchkit.patterns import pattern

_PARTS = pattern(r'(?:"(?P<quoted>[^"]+)"|(?P<plain>[^.]*))\.(?P<tool>.*)', re.DOTALL)


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
        return fits(name, self.server)

    def covers(self, server: str, tool: str) -> bool:
        """Whether it means this tool of this server."""
        return fits(server, self.server) and fits(tool, self.tool)
