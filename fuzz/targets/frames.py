"""Messages on a pipe: however the bytes are cut, the same messages come out."""

from switchboard.wire.frames import FrameReader, FrameTooLarge

SEEDS = (
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    b'Content-Length: 2\r\n\r\n{}{"id":1}\n',
    b"content-length: 0\n\n\nContent-Length: x\n\n",
    b"Content-Length: 5\r\nContent-Type: a\r\n\r\n12345C\nCon",
    b'\x00{"id":1}\r\n{"id":2}\r',
)
# No less than what a header may take, as it is in use.
_LIMIT = 4096


def check(data: bytes) -> None:
    """The first byte says how the rest is cut."""
    if not data:
        return
    size, rest = data[0] % 16 + 1, data[1:]
    whole = _messages(rest, len(rest) or 1)
    cut = _messages(rest, size)
    assert cut == whole, (cut, whole)
    assert all(len(each) <= _LIMIT for each in whole[0])


def _messages(data: bytes, size: int) -> tuple[list[bytes], bool]:
    """The messages, and whether one was too large."""
    reader, found = FrameReader(_LIMIT), list[bytes]()
    start = 0
    while start < len(data):
        end = min(start + size, len(data))
        # Where nothing follows for now this is the end of a message, and elsewhere it is not.
        while data[:end].endswith(b"}\r") and end < len(data):
            end += 1
        try:
            found += reader.feed(data[start:end])
        except FrameTooLarge as error:
            return found + error.messages, True
        start = end
    return found, False
