"""Which names are shown. Deny wins."""

from fnmatch import fnmatchcase

from msgspec import Struct


def fits(name: str, pattern: str) -> bool:
    """Whether a pattern that allows something means this name. Only `*` is special in it.

    A server may well be named `a[1]`, and is not to lend its rule to `a1`. And a pattern that fits
    another allows no more than that one does.
    """
    return fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))


class Visibility(Struct, frozen=True):
    """Allow and deny lists; `*` stands for any characters. Without an allow list all are shown.

    What is denied is denied in capitals too, and by `?` and `[…]` as shells know them.
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
        return self.allow is None or any(fits(name, pattern) for pattern in self.allow)

    @property
    def is_open(self) -> bool:
        """Whether it shows everything."""
        return self.allow is None and not self.deny
