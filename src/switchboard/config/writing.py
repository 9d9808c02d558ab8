"""Replacing a file as a whole: either the old text or the new one, never half of it."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from switchboard.config.problems import ConfigInvalid, Problem
from switchkit.files import make_folder, replace_file

_PERMISSIONS = 0o777


def refuse_linked_folders(path: str, within: str) -> None:
    """Raise `ConfigInvalid` where a folder between `within` and the file is a link."""
    folder = os.path.dirname(path)
    while len(folder) > len(within.rstrip(os.sep)):
        if os.path.islink(folder):
            message = "the folder is a symbolic link, and nothing is written through it"
            hint = "replace the link by a folder"
            raise ConfigInvalid([Problem(path=folder, message=message, hint=hint)])
        folder = os.path.dirname(folder)


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
    try:
        make_folder(os.path.dirname(path))
        replace_file(path, text.encode(), mode=mode)
    except OSError as refused:
        raise ConfigInvalid(
            [
                Problem(
                    path=path,
                    message=f"the file cannot be written: {(refused.strerror or '').lower()}",
                )
            ]
        ) from refused


@contextmanager
def put_back_on_failure(path: str) -> Generator[None]:
    """What is done with the file within is undone when something goes wrong, or is interrupted."""
    refuse_link(path)
    folder = os.path.dirname(path)
    is_new_folder = not os.path.lexists(folder)
    before: bytes | None = None
    mode = 0
    with suppress(OSError), open(path, "rb") as file:
        before = file.read()
        mode = os.fstat(file.fileno()).st_mode & _PERMISSIONS
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if before is None:
                os.unlink(path)
            elif before != _now(path):
                replace_file(path, before, mode=mode)
        if is_new_folder:
            with suppress(OSError):
                os.rmdir(folder)
        raise


def _now(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
