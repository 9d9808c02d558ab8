"""Files that hold one JSON object each, replaced whole."""

import errno
import json
from pathlib import Path
from typing import Any

from switchkit.files import replace_file

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def disk_trouble(wrong: OSError, folder: Path) -> str | None:
    """What is wrong with the disk that holds this folder, if that is why a write failed."""
    if wrong.errno not in _NO_ROOM:
        return None
    return f"cannot write to the disk of {folder}: {wrong.strerror}"


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in the file; nothing when it is absent.

    Raises `ValueError` when the file is there and is not one JSON object.
    """
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    loaded: Any = json.loads(raw)
    if not isinstance(loaded, dict):
        raise ValueError(f"{path} does not hold a JSON object")  # noqa: TRY004 - callers catch one kind
    return loaded  # pyright: ignore[reportUnknownVariableType] - JSON keys are strings


def write_json(path: Path, value: dict[str, Any], *, durable: bool = True) -> None:
    """Replace the file with this object, atomically."""
    text = json.dumps(value, separators=(",", ":")) + "\n"
    replace_file(path, text.encode(), durable=durable)
