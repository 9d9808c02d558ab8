"""Who it is that everything runs as."""

import os
import pwd
from functools import cache

from msgspec import Struct


class Principal(Struct, frozen=True):
    """A user of the system."""

    uid: int
    name: str = ""

    def __str__(self) -> str:
        return f"uid:{self.uid} {self.name}".rstrip()

    @property
    def is_root(self) -> bool:
        """Whether nothing but a sandbox limits what it may do."""
        return self.uid == 0


@cache
def this_user() -> Principal:
    """The user of this process, which never changes."""
    uid = os.getuid()
    try:
        return Principal(uid, pwd.getpwuid(uid).pw_name)
    except KeyError:
        return Principal(uid)
