"""Where a database is. Its password is in it, and is told to nobody."""

from urllib.parse import unquote, urlsplit

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode

_SCHEMES = ("postgresql", "postgres")


class DatabaseAddress(Struct, frozen=True, repr_omit_defaults=True):
    """A URL of PostgreSQL. As text it is without the password."""

    url: str

    def __str__(self) -> str:
        """Where it is, for people."""
        parts = urlsplit(self.url)
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return f"postgresql://{user}{host}{port}{parts.path}"

    def __repr__(self) -> str:
        return f"DatabaseAddress({self})"

    def without_secret(self, text: str) -> str:
        """A text of the driver, in which the password may stand."""
        password = urlsplit(self.url).password
        for secret in {password, unquote(password)} if password else ():
            text = text.replace(secret, "…")
        return text


def read_address(text: str) -> DatabaseAddress:
    """The address that somebody wrote. Raises a fault that does not repeat it."""
    try:
        parts = urlsplit(text)
        is_known = parts.scheme in _SCHEMES and bool(parts.path.strip("/"))
        # Reading it checks it.
        _ = parts.port
    except ValueError:
        is_known = False
    if not is_known:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "database-address",
            "this is no address of a PostgreSQL database",
            hint="postgresql://user@host:5432/name",
        )
    return DatabaseAddress(text)
