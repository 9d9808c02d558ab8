"""Names that the eye takes for each other. The model is shown letters of ASCII; people are not."""

import unicodedata

from switchboard.core.catalog.names import fold

# Letters of other scripts, after folding, and the Latin letter that each one is taken for.
_TAKEN_FOR = str.maketrans(
    "\u0430\u0432\u0435\u0437\u0456\u0457\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443"
    "\u0445\u0455\u0461\u0475\u04bb\u04cf\u0501\u051b\u051d\u0433\u0431"
    "\u03b1\u03b2\u03b3\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c3\u03c4\u03c5\u03c7"
    "\u03c9\u03f2\u03f3\u0131\u0251\u0261\u0269\u028b\u0561\u0563\u0566\u0570\u0578\u057d\u0585"
    "\u2010\u2011\u2012\u2013\u2014\u2212\u02d7",
    "abe3iijkmhopctyxswvhldqwr6abyenikuvopotuxwcjiagivwqzhnuo-------",
)


def skeleton(name: str) -> str:
    """What is left of a name to the eye."""
    return fold(unicodedata.normalize("NFKC", name)).translate(_TAKEN_FOR)
