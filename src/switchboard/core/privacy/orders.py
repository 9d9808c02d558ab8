"""Words of a tool that are meant for the model and against its user."""

import re

from switchkit.patterns import pattern

# Strangers write what this reads, so nothing in it is ever tried in two ways (`*+`, `++`): the time
# it takes grows with the text, and not with its square.
_ORDERS = pattern(
    r"<\s*+/?\s*+(?:important|system|secret|hidden|instructions?)\s*+>"
    r"|\b(?:do not|don't|never|without)\s++(?:ever\s++)?"
    r"(?:mention|tell|telling|inform|informing|reveal|disclose|show|notify|notifying|ask|asking)"
    r"\w*+[^.\n]{0,60}\b(?:user|human|person|anyone|anybody)\b"
    r"|\bignore\s++(?:all\s++|any\s++)?(?:previous|prior|earlier|other)\s++"
    r"(?:instructions|rules|tools|messages)"
    r"|\b(?:user|human)\s++(?:must|should)\s++not\s++(?:know|see|notice|be\s++told)",
    re.IGNORECASE,
)


def gives_orders(text: str) -> bool:
    """Whether a description tells a model to keep something from its user, or to disobey.

    It finds the plain cases only; it is there to make a person look, not to make anything safe.
    """
    return _ORDERS.search(text) is not None
