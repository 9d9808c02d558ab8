"""Refuses symbolic links where whoever is inside could point them elsewhere."""

import os

from switchboard.sandbox.refusals import refused_link


def refuse_links(root: str, path: str) -> None:
    """Raise a fault when a part of `path` below `root` is a link.

    A mount follows links, so one that can be changed from inside decides what is mounted.
    """
    part = root
    for name in os.path.relpath(path, root).split(os.sep):
        part = os.path.join(part, name)
        if os.path.islink(part):
            raise refused_link(part)
