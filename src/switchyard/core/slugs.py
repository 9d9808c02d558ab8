"""Slugs: names that are safe in host names, file names and database names."""

MAX_LABEL = 63
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def slug(text: str) -> str:
    """Lower case, each run of other characters as one hyphen, at most as long as a DNS label.

    A name that is longer, or has letters that cannot be written in ASCII, gets a digest, so that
    two such names stay distinct. An accent is left away.
    """
    lost = False
    if not text.isascii():
        from unicodedata import normalize  # noqa: PLC0415 - few names need its tables

        plain = normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
        lost = len(plain) < sum(one.isalnum() for one in text)
        text, whole = plain, text
    else:
        whole = text
    spaced = "".join(one if one in _PLAIN else " " for one in text.lower())
    made = "-".join(spaced.split()) or ("x" if lost else "default")
    if len(made) <= MAX_LABEL and not lost:
        return made
    return f"{made[: MAX_LABEL - 5].rstrip('-')}-{digest(whole, 4)}"


def digest(text: str, length: int = 8) -> str:
    """A short stable fingerprint (FNV-1a), for names only, never for trust."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogateescape"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"[:length]


def variable(name: str) -> str:
    """The name as part of a placeholder: hyphens become underscores."""
    return name.lower().replace("-", "_")
