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
