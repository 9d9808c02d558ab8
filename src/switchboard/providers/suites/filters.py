"""Which subtools a suite shows. Deny wins."""

from fnmatch import fnmatchcase

from msgspec import Struct


class SubtoolFilter(Struct, frozen=True):
    """Allow and deny lists of one suite; `*` stands for any characters."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def shows(self, subtool: str) -> bool:
        """Whether this subtool may be seen and called."""
        if any(fnmatchcase(subtool, pattern) for pattern in self.deny):
            return False
        return self.allow is None or any(fnmatchcase(subtool, pattern) for pattern in self.allow)
