"""The ways in which a person is told that something waits: the items of `approvals.notify`."""

from typing import Literal

from msgspec import Struct

from switchkit.patterns import pattern

WayKind = Literal["desktop", "ntfy", "webhook", "command"]

# Where a topic without an address is.
_NTFY = "https://ntfy.sh"
_TOPIC = r"[-_A-Za-z0-9]{1,64}"
# Unencrypted to this machine alone.
_WEB = (
    r"(?:https://"
    r"|http://(?:[^\s/@]+@)?(?:127\.0\.0\.1|localhost|\[::1\])(?=[:/])(?![^/]*@))"
)
# What an item may look like, for whoever reads the configuration.
PATTERN = (
    rf"desktop|ntfy:(?:{_TOPIC}|{_WEB}[^\s/]+/{_TOPIC}|{_WEB}\S+/{_TOPIC})"
    rf"|webhook:{_WEB}\S+|command:\s*\S.*"
)
_ADDRESS = pattern(r"(?P<scheme>https?://)(?:(?P<who>[^/@]*)@)?(?P<rest>.+)")


class Way(Struct, frozen=True, kw_only=True):
    """One way to tell somebody. Only its kind and its number may be told of it."""

    kind: WayKind
    # Its place in the list, from 1 on.
    number: int
    # A command line, or the address of a webhook or of an ntfy server.
    to: str = ""
    topic: str = ""
    # What that server wants to see: a token, or a name and a password.
    login: str = ""

    @property
    def name(self) -> str:
        return f"notify {self.number} ({self.kind})"


def read_way(text: str, number: int) -> Way:
    """An item that fits the pattern."""
    kind, _, rest = text.partition(":")
    rest = rest.strip()
    match kind:
        case "ntfy":
            if "/" not in rest:
                return Way(kind="ntfy", number=number, to=_NTFY, topic=rest)
            base, _, topic = rest.rpartition("/")
            address, login = _apart(base)
            return Way(kind="ntfy", number=number, to=address, topic=topic, login=login)
        case "webhook":
            address, login = _apart(rest)
            return Way(kind="webhook", number=number, to=address, login=login)
        case "command":
            return Way(kind="command", number=number, to=rest)
        case _:
            return Way(kind="desktop", number=number)


def _apart(address: str) -> tuple[str, str]:
    """An address, and who it says we are."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return address, ""
    return f"{found['scheme']}{found['rest']}", found["who"] or ""
