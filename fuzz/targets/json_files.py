"""Files in JSON: what is accepted means what the standard library reads."""

import json

from switchboard.config.json_text import JsonInvalid, read_json

SEEDS = (
    b'{"mcpServers": {"a": {"command": "x", "args": ["-y", 1, 2.5e3, true, null]}}}',
    b'{"a": "\\u00e9\\ud83d\\ude00\\n", "a": 1}',
    b"[[[[]]]] // comment",
    b'{"a": -0, "b": 1e400, "c": "\\ud83c"}',
)


def check(data: bytes) -> None:
    """Read it twice."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    try:
        ours = read_json(text)
    except JsonInvalid as refused:
        assert 0 <= refused.offset <= len(text), refused.offset
        return
    if not ours.repeated:
        # With a key that stands twice the two may choose differently; the file is refused.
        theirs = json.loads(text)
        assert ours.value == theirs, (ours.value, theirs)
