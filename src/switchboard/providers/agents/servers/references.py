"""What an agent says of tools, as servers and the tools of servers."""

from collections.abc import Iterable

from msgspec import Struct

_MARK = "::"
# How Claude Code writes a tool of a server, and a server with all its tools.
_CLAUDE = "mcp__"


class Reference(Struct, frozen=True):
    """One tool that an agent names. Without a server it is bare; without a tool it means all."""

    server: str
    tool: str

    def __str__(self) -> str:
        return f"{self.server}{_MARK}{self.tool}" if self.server else self.tool


def read_references(words: Iterable[str]) -> tuple[Reference, ...]:
    """Each reference once, in order. What is empty means nothing."""
    return tuple(dict.fromkeys(filter(None, map(_read, words))))


def _read(word: str) -> Reference | None:
    word = word.strip()
    if word.startswith(_CLAUDE):
        server, _, tool = word.removeprefix(_CLAUDE).partition("__")
        return Reference(server, "" if tool == "*" else tool) if server else None
    server, mark, tool = word.partition(_MARK)
    if mark:
        server, tool = server.strip(), tool.strip()
        return Reference(server, "" if tool == "*" else tool) if server else None
    return Reference("", word) if word else None
