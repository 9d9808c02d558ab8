"""Files as programs write them that work on them."""

_SIZE = 4096


def sqlite(text: str = "") -> bytes:
    """The first page of a database, and something in it."""
    head = b"SQLite format 3\0" + _SIZE.to_bytes(2, "big") + bytes((1, 1, 0, 64, 32, 32))
    return (head + bytes(76) + text.encode()).ljust(_SIZE, b"\0")


def duckdb(text: str = "", before: bytes = b"\x81\x07\xfe\x10\x93\xa4\xc2\x01") -> bytes:
    """The headers of a database behind their sum, and something in it."""
    return (before + b"DUCK" + (64).to_bytes(8, "little") + text.encode()).ljust(3 * _SIZE, b"\0")
