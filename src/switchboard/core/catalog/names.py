"""Names that every client accepts: letters, digits, `_` and `-`, at most 64."""

import re
from binascii import crc32

MAX_TOOL_NAME = 64
_HASH_CHARS = 8
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(wanted: str) -> str:
    """The wanted name with foreign characters replaced, cut with a hash when it is too long."""
    safe = _UNSAFE.sub("_", wanted)
    if len(safe) <= MAX_TOOL_NAME:
        return safe
    return marked_name(safe, wanted)


def marked_name(name: str, of: str) -> str:
    """The name with a hash of what it stands for, to tell it from others of the same name."""
    # A cryptographic hash would cost the start 4 ms.
    digest = f"{crc32(of.encode()):0{_HASH_CHARS}x}"
    return f"{name[: MAX_TOOL_NAME - _HASH_CHARS - 1]}_{digest}"


def suite_name(child: str) -> str:
    """The name of a child's suite tool when nobody chose one."""
    return tool_name(f"{child}_suite")


def fold(name: str) -> str:
    """The form in which two names count as the same."""
    return name.casefold()


def is_reserved(key: str) -> bool:
    """Whether a member of `_meta` is in our name or in the protocol's, however it is spelt."""
    return is_in_our_name(key) or is_of_the_protocol(key)


def is_of_the_protocol(key: str) -> bool:
    """The same for the protocol alone: what the two ends note for each other, and no tool says."""
    return key.strip().casefold().startswith("io.modelcontextprotocol/")


def is_in_our_name(key: str) -> bool:
    """The same for our name alone: what a server says of the protocol may concern the client."""
    return key.strip().casefold().startswith("switchboard/")
