"""Which names are shown. Deny wins."""

from fnmatch import fnmatchcase

from msgspec import Struct


class Visibility(Struct, frozen=True):
    """Allow and deny lists; `*` stands for any characters. Without an allow list all are shown.

    What is denied is denied in capitals too.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()

    def shows(self, name: str) -> bool:
        """Whether this name may be seen and called."""
        if self.is_open:
            return True
        # However it is spelt: a server may take another spelling for the same.
        folded = name.strip().casefold()
        if any(fnmatchcase(folded, pattern.casefold()) for pattern in self.deny):
            return False
        return self.allow is None or any(fnmatchcase(name, pattern) for pattern in self.allow)

    @property
    def is_open(self) -> bool:
        """Whether it shows everything."""
        return self.allow is None and not self.deny
