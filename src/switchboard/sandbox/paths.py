"""Which path lies in which. All of them absolute and canonical."""

import os


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_below(path: str, folder: str) -> bool:
    """Whether a path lies below a folder."""
    return path != folder and is_within(path, folder)


def depth(path: str) -> int:
    """How many folders lead to it."""
    return 0 if path == os.sep else path.count(os.sep)
