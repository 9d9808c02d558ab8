"""Files that survive a crash: atomic replacement and locks the kernel lets go of by itself."""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700


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
        raise ValueError(f"{path} holds no object")  # noqa: TRY004 - callers catch one kind
    return loaded  # pyright: ignore[reportUnknownVariableType] - JSON keys are strings


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace the file as one step: a reader sees the old text or the new, never a part.

    Nothing is left behind when the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(3).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        try:
            view = memoryview(text.encode())
            while view:
                view = view[os.write(descriptor, view) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_json(path: Path, value: dict[str, Any], *, durable: bool = True) -> None:
    """Replace the file by this object, as one step."""
    write_text(path, json.dumps(value, separators=(",", ":")) + "\n", durable=durable)


def private_directory(path: Path) -> Path:
    """The directory, made for this user alone when it was missing."""
    if not path.parent.exists():
        private_directory(path.parent)
    path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "belongs to another user", str(path))
    return path


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock file. The kernel lets go of it when this process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock now. Creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
