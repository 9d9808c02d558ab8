"""A description in fewer characters, and never in more than allowed."""

_MARK = "..."


def summarise(text: str, limit: int) -> str:
    """White space folded; cut after a full stop beyond half the limit, else at a word with dots."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    stop = text.rfind(".", 0, limit)
    if stop > limit * 0.5:
        return text[: stop + 1]
    room = limit - len(_MARK)
    if room <= 0:
        return text[:limit]
    cut = text[:room]
    space = cut.rfind(" ")
    # A word boundary is worth a few characters, not half of the text.
    if not text[room].isspace() and space > room * 0.5:
        cut = cut[:space]
    return cut.rstrip() + _MARK
