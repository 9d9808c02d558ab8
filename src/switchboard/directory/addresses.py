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


def matches(template: str, uri: str) -> bool:
    """Whether a URI can come of a template. Takes no longer than both are long."""
    # Where the part of the template that was read so far can end in the URI.
    ends = {0}
    last = 0
    for found in _EXPRESSION.finditer(template):
        ends = _after_text(ends, template[last : found.start()], uri)
        ends = _after_expression(ends, found[1], uri)
        last = found.end()
    return len(uri) in _after_text(ends, template[last:], uri)


def _after_text(ends: set[int], text: str, uri: str) -> set[int]:
    if not text:
        return ends
    return {end + len(text) for end in ends if uri.startswith(text, end)}


def _after_expression(ends: set[int], operator: str, uri: str) -> set[int]:
    if not ends:
        return ends
    # Only a reserved or fragment expansion may run over the borders of a path segment.
    if operator:
        least = 1 if operator in _NOT_EMPTY else 0
        return set(range(min(ends) + least, len(uri) + 1))
    reached: set[int] = set()
    is_inside = False
    for place in range(min(ends), len(uri) + 1):
        is_inside = place in ends or (is_inside and uri[place - 1] not in _BORDERS)
        if is_inside:
            reached.add(place)
    return reached
