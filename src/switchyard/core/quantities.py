"""Durations and sizes as people write them in `switchyard.toml`."""

import re

_DURATION = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_SIZE = r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB)"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3}


def seconds(text: str) -> float | None:
    """`500ms`, `30s`, `1m30s` as seconds; nothing when it is not a duration."""
    total, at = 0.0, 0
    while (match := re.compile(_DURATION).match(text, at)) is not None:
        total += float(match[1]) * _SECONDS[match[2]]
        at = match.end()
    return total if at == len(text) and at else None


def size_bytes(text: str) -> int | None:
    """`10MB` as bytes; nothing when it is not a size."""
    match = re.fullmatch(_SIZE, text.strip().upper())
    return int(float(match[1]) * _BYTES[match[2]]) if match else None
