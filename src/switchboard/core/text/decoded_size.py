"""What JSON takes in memory once it is read: `{}` is two bytes as text, and seventy as a value."""

MOST_DECODED = 128 * 1024 * 1024
# Less cannot come to more, whatever it holds.
SURELY_LITTLE = MOST_DECODED // 128
_OF_OBJECT = 200
_OF_EMPTY = 64
_OF_ARRAY = 72
_OF_MEMBER = 32
# A pair of them is a text; the names of members are mostly shared.
_OF_QUOTE = 16
# An object with so many members is opened in a fifth of a second, and everybody waits for that.
MOST_TEXTS = 200_000


def has_many_texts(json: bytes) -> bool:
    """Whether it may hold more members than anybody can be made to wait for.

    A quote behind a backslash is inside a text, so that one long text is never taken for many.
    """
    if len(json) <= SURELY_LITTLE:
        return False
    return json.count(b'"') - json.count(b'\\"') > 2 * MOST_TEXTS


def decoded_size(json: bytes) -> int:
    """About how many bytes it will take, from the signs in it: too many where texts hold signs."""
    if len(json) <= SURELY_LITTLE:
        return len(json)
    empty = json.count(b"{}")
    return (
        len(json)
        + _OF_EMPTY * empty
        + _OF_OBJECT * (json.count(b"{") - empty)
        + _OF_ARRAY * json.count(b"[")
        + _OF_MEMBER * json.count(b",")
        + _OF_QUOTE * json.count(b'"')
    )
