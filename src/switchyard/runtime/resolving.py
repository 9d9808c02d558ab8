"""Whether programs can use the names of services; browsers know them without a resolver."""

import threading
from functools import cache

# A resolver that asks a network which is not there may take many times as long.
PATIENCE_S = 0.5


@cache
def names_resolve(tld: str) -> bool:
    """Whether this machine's resolver knows names below this one. Asked once; bounded."""
    found: list[bool] = []

    def ask() -> None:
        # Loaded here, because most questions are not about names.
        from socket import getaddrinfo  # noqa: PLC0415

        try:
            rows = getaddrinfo(f"switchyard-asks.{tld}", None)
        except (OSError, UnicodeError):
            return
        found.append(bool(rows) and all(row[4][0] in ("127.0.0.1", "::1") for row in rows))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return bool(found and found[0])
