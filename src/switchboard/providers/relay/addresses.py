"""URIs of resources: kept when only one child has them, told apart by the child's name when not."""

import re
from functools import lru_cache

_SCHEME = "switchboard://"
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


def matches(template: str, uri: str) -> bool:
    """Whether a URI can come of a template."""
    return _pattern(template).fullmatch(uri) is not None


@lru_cache(maxsize=4_096)
def _pattern(template: str) -> "re.Pattern[str]":
    parts: list[str] = []
    last = 0
    for found in _EXPRESSION.finditer(template):
        parts.append(re.escape(template[last : found.start()]))
        # Only a reserved or fragment expansion may run over the borders of a path segment.
        parts.append(".+" if found[1] in {"+", "#", "/"} else "[^/?#]*" if not found[1] else ".*")
        last = found.end()
    parts.append(re.escape(template[last:]))
    return re.compile("".join(parts), re.DOTALL)
