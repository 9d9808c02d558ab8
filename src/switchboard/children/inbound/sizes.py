"""How much a server may say at once.

Everybody shares one loop, and what is taken apart there keeps all of them waiting. A text may be as
long as a message may be: it is passed on as it is. What is bounded is the number of parts that
somebody has to go through, and the size of what has to be read whole.
"""

from typing import Final

from msgspec import Raw

from switchboard.core.faults import Fault, FaultCode

# More than any client shows, or any model reads.
MOST_BLOCKS: Final = 10_000
MOST_META_BYTES: Final = 1024 * 1024
MOST_ENTRIES: Final = 10_000
# Whoever asks for a resource has its URI compared with all of them.
MOST_TEMPLATES: Final = 1_000
MOST_TEMPLATE_LETTERS: Final = 1_024
MOST_LISTING_BYTES: Final = 8 * 1024 * 1024
# A definition is read by whoever judges a call of it. A long text is read in one go; parts take
# longer, and no schema that a model has to read comes near to so many.
MOST_ENTRY_BYTES: Final = 2 * 1024 * 1024
MOST_ENTRY_PARTS: Final = 50_000
# What is said beside a call: progress, a log message, a form, the data of an error.
MOST_NOTE_BYTES: Final = 256 * 1024


def is_long(method: str, params: Raw) -> bool:
    """Whether what a server says by itself is more than can be read while everybody waits.

    What a model is to read may hold pictures, and is passed on as it is.
    """
    return len(memoryview(params)) > MOST_NOTE_BYTES and method != "sampling/createMessage"


def is_large(entry: Raw) -> bool:
    """Whether a definition is more than anybody could be made to judge."""
    text = bytes(entry)
    if len(text) <= MOST_ENTRY_PARTS:
        return False
    parts = text.count(b'"') // 2 + text.count(b",")
    return len(text) > MOST_ENTRY_BYTES or parts > MOST_ENTRY_PARTS


def result_too_large(has: str) -> Fault:
    """Its result has more parts than anybody can be made to wait for."""
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "result-too-large",
        f"the server's result has {has}",
        hint="ask it for less at once; the call itself may have been carried out",
    )


def too_many_blocks() -> Fault:
    """Of images, texts and resources."""
    return result_too_large(f"more than {MOST_BLOCKS:,} blocks")


def listing_too_large(method: str, most: str) -> Fault:
    """It lists more than anybody could choose from."""
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "listing-too-large",
        f"the server answered `{method}` with more than {most}",
        hint="have it offer less; what it listed before it did so is not changed",
    )


def definition_too_large(tool: str) -> Fault:
    """What it says of a tool is more than anybody could judge."""
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "definition-too-large",
        f"the server's definition of `{tool}` has more than {MOST_ENTRY_PARTS:,} parts"
        f" or {MOST_ENTRY_BYTES:,} bytes",
        hint="it is left out; the server has to describe it in fewer words",
    )


def too_much_meta() -> Fault:
    """Beside what it says."""
    return result_too_large(f"more than {MOST_META_BYTES:,} bytes in its `_meta`")
