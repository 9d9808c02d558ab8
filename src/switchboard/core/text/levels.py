"""Log levels, from the chattiest to the gravest."""

LEVELS = (
    *("debug", "info", "notice", "warning"),
    *("error", "critical", "alert", "emergency"),
)


def reaches(level: str, wanted: str) -> bool:
    """Whether a message of this level is wanted. A level that nobody knows is wanted."""
    if level not in LEVELS or wanted not in LEVELS:
        return True
    return LEVELS.index(level) >= LEVELS.index(wanted)
