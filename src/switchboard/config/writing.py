"""Replacing a file as a whole: either the old text or the new one, never half of it."""

# ruff: noqa: PTH105, PTH108, PTH118, PTH120, PTH114

import contextlib
import os

from switchboard.config.problems import ConfigInvalid, Problem


def refuse_link(path: str) -> None:
    """Raise `ConfigInvalid` for a file that is a symbolic link."""
    if os.path.islink(path):
        raise ConfigInvalid(
            [
                Problem(
                    path=path,
                    message="the file is a symbolic link and is not written through",
                    hint="edit the file that it points to, or replace the link by a file",
                )
            ]
        )


def write_whole(path: str, text: str, *, mode: int) -> None:
    """Write beside the file, make it durable, and rename. A symbolic link is refused."""
    refuse_link(path)
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.new")  # noqa: PTH119
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        handle = os.open(beside, flags, mode)
        try:
            os.fchmod(handle, mode)
            _write_all(handle, text.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(beside, path)
    except OSError as refused:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise ConfigInvalid(
            [
                Problem(
                    path=path,
                    message=f"the file cannot be written: {(refused.strerror or '').lower()}",
                )
            ]
        ) from refused


def _write_all(handle: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(handle, raw) :]
