"""JSON as editors write it, with comments and commas after the last item, as plain JSON."""

import re

# A string, a comment of either kind, or a comma before a closing bracket. What has no end takes the
# rest of the text, and nothing is tried in two ways: a clone may hold such a text.
_TOKEN = re.compile(
    r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
    r"|//[^\n]*+"
    r"|/\*.*?(?:\*/|\Z)"
    r"|,(?=(?:\s++|//[^\n]*+|/\*.*?\*/)*+[}\]])",
    re.DOTALL,
)
_NOT_A_LINE_END = re.compile(r"[^\n]")


def without_comments(text: str) -> str:
    """The same text with blanks where comments and such commas were: every place stays."""
    return _TOKEN.sub(_blanked, text.removeprefix("\ufeff"))


def _blanked(found: re.Match[str]) -> str:
    token = found[0]
    return token if token.startswith('"') else _NOT_A_LINE_END.sub(" ", token)
