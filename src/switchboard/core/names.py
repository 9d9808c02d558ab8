"""Names that every client accepts: letters, digits, `_` and `-`, at most 64."""

import hashlib
import re

MAX_TOOL_NAME = 64
_HASH_CHARS = 8
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

RESERVED_NAMES = frozenset({"codex", "codex-reply"})
RESERVED_PREFIXES = ("switchyard_", "switchboard_")


def tool_name(wanted: str) -> str:
    """The wanted name with foreign characters replaced, cut with a hash when it is too long."""
    safe = _UNSAFE.sub("_", wanted)
    if len(safe) <= MAX_TOOL_NAME:
        return safe
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:_HASH_CHARS]
    return f"{safe[: MAX_TOOL_NAME - _HASH_CHARS - 1]}_{digest}"


def suite_name(child: str) -> str:
    """The name of a child's suite tool when nobody chose one."""
    return tool_name(f"{child}_suite")


def is_reserved(name: str) -> bool:
    """Whether the name belongs to a tool of Switchboard itself."""
    return name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES)


def fold(name: str) -> str:
    """The form in which two names count as the same."""
    return name.casefold()
