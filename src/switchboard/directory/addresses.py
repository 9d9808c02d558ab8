"""URIs of resources: kept when only one child has them, told apart by the child's name when not."""

import re

_SCHEME = "switchboard://"
_BORDERS = "/?#"
_NOT_EMPTY = "+#/"
_EXPRESSION = re.compile(r"\{([+#./;?&]?)[^{}]*\}")


def prefixed(child: str, uri: str) -> str:
    """The URI of one child's resource, whatever other children call theirs."""
    return f"{_SCHEME}{child}/{uri}"


def split(uri: str) -> tuple[str, str] | None:
    """The child and its own URI, if the URI names its child."""
    if not uri.startswith(_SCHEME):
        return None
    child, slash, own = uri.removeprefix(_SCHEME).partition("/")
    return (child, own) if slash and own else None


def is_ours(uri: str) -> bool:
    """Whether a URI looks as if it named a child."""
    return uri.startswith(_SCHEME)


class Sought:
    """A URI that somebody asks for, compared with templates.

    Where the part of a template that was read so far can end in the URI is one number, with a bit
    for each place: a template takes no longer than it has letters.
    """

    __slots__ = ("_all", "_inside", "_places", "_uri")

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._all = (2 << len(uri)) - 1
        # At which places each letter stands.
        self._places: dict[str, int] = {}
        for place, letter in enumerate(uri):
            self._places[letter] = self._places.get(letter, 0) | 1 << place
        # The places that are in one path segment with the place before them.
        borders = 0
        for border in _BORDERS:
            borders |= self._places.get(border, 0)
        self._inside = self._all & ~(borders << 1) & ~1

    def fits(self, template: str) -> bool:
        """Whether the URI can come of the template."""
        ends, last = 1, 0
        for found in _EXPRESSION.finditer(template):
            ends = self._after_text(ends, template[last : found.start()])
            ends = self._after_expression(ends, found[1])
            if not ends:
                return False
            last = found.end()
        return bool(self._after_text(ends, template[last:]) >> len(self._uri))

    def _after_text(self, ends: int, text: str) -> int:
        if ends == 1:
            return 1 << len(text) if self._uri.startswith(text) else 0
        for offset, letter in enumerate(text):
            ends &= self._places.get(letter, 0) >> offset
            if not ends:
                return 0
        return ends << len(text)

    def _after_expression(self, ends: int, operator: str) -> int:
        if not ends:
            return 0
        # Only a reserved or fragment expansion may run over the borders of a path segment.
        if operator:
            first = ends & -ends
            return self._all & -(first << 1 if operator in _NOT_EMPTY else first)
        # Each place leads to all behind it in its segment: a sum carries it as far as there are
        # bits.
        begun = ends << 1 & self._inside
        return ends | begun | ((self._inside + begun ^ self._inside) & self._inside)
