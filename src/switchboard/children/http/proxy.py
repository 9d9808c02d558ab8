"""Which proxy leads to a server, by the variables of the session and not of the process."""

from collections.abc import Mapping
from itertools import chain

_WORDS = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
PROXY_NAMES = frozenset(chain(_WORDS, map(str.lower, _WORDS)))


def proxy_for(scheme: str, host: str, environ: Mapping[str, str]) -> str | None:
    """The proxy for a server of this scheme and host, if any."""
    if _is_excepted(host, _value(environ, "NO_PROXY")):
        return None
    found = _value(environ, f"{scheme.upper()}_PROXY") or _value(environ, "ALL_PROXY")
    if not found:
        return None
    return found if "://" in found else f"http://{found}"


def _value(environ: Mapping[str, str], name: str) -> str:
    # The lower case is the older habit, and wins everywhere else too.
    return environ.get(name.lower()) or environ.get(name) or ""


def _is_excepted(host: str, exceptions: str) -> bool:
    for exception in (word.strip().lower() for word in exceptions.split(",")):
        name = exception.partition(":")[0].lstrip(".")
        if exception == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return True
    return False
