"""Hosts that a confined program may reach, as they are written and as they are compared."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

# The ports of a host that is written without one.
USUAL_PORTS = (443, 80)
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# A wildcard stands before two labels at least: whoever writes `*.com` means everybody.
HOST_PATTERN = (
    rf"(?:\*\.{_LABEL}(?:\.{_LABEL})+|{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]{{2,45}}\])"
    r"\.?(?::[1-9][0-9]{0,4})?"
)
METHOD_PATTERN = r"[A-Z]{1,20}"
_LONGEST = 253
_HIGHEST_PORT = 65_535
_NUMBER = r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)"

EgressOutcome = Literal["reached", "refused", "failed"]


class EgressHost(Struct, frozen=True, kw_only=True):
    """One host that may be reached, and how."""

    # A name, an address, or `*.` before a name, which stands for every name below it.
    host: str
    # 0 stands for the usual ones.
    port: int = 0
    # Empty stands for every method.
    methods: tuple[str, ...] = ()
    # `env:NAME` or `vault:…`: the credential that is put on at our edge.
    inject: str = ""

    @property
    def written(self) -> str:
        """The host as a file writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def is_inspected(self) -> bool:
        """Whether we have to see the requests themselves, and not only where they go."""
        return bool(self.methods or self.inject)

    @property
    def variable(self) -> str:
        """The variable that holds a placeholder of what is injected.

        Two references may share it. What the placeholder stands for depends on the host.
        """
        return re.split(r"[:/]", self.inject)[-1]

    def fits(self, host: str, port: int) -> bool:
        """Whether this stands for a host and a port."""
        if port != self.port and (self.port or port not in USUAL_PORTS):
            return False
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and host != self.host[2:]
        return host == self.host


class EgressRow(Struct, frozen=True, kw_only=True):
    """What became of the wishes of one server for one host."""

    server: str
    host: str
    port: int
    outcome: EgressOutcome
    # Why it was refused, or failed.
    why: str = ""
    # Where the name leads, if that is what was refused.
    address: str = ""
    times: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    last_at: float = 0.0


def canonical_host(text: str) -> str:
    """A host in the one way in which it is compared. Raises ValueError where it is none.

    One trailing dot is taken away. What the C library would take for a number is an address only if
    it is written as one: `0x7f.1` and `2130706433` are nobody's name.
    """
    if not text.isascii() or "%" in text:
        raise ValueError("a host is written in ASCII, an address without its interface")
    # Few have hosts of their own, and every start would wait for it.
    import ipaddress  # noqa: PLC0415

    host = text.lower()
    if host.startswith("[") and host.endswith("]"):
        return str(ipaddress.IPv6Address(host[1:-1]))
    host = host.removesuffix(".")
    if len(host) > _LONGEST or re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", host) is None:
        raise ValueError("this is no host")
    if re.fullmatch(_NUMBER, host.rpartition(".")[2]):
        return str(ipaddress.IPv4Address(host))
    return host


def split_host(text: str, default_port: int) -> tuple[str, int]:
    """`host:port` as a canonical host and a port. Raises ValueError."""
    found = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?", text)
    if found is None:
        raise ValueError("this is no host")
    port = int(found[2]) if found[2] is not None else default_port
    if not 0 < port <= _HIGHEST_PORT:
        raise ValueError("this is no port")
    return canonical_host(found[1]), port


def shown_host(host: str, port: int) -> str:
    """A host and port as a file writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def egress_from(written: Sequence[str] | Mapping[str, Mapping[str, Any]]) -> tuple[EgressHost, ...]:
    """The hosts of a checked list, or of a table with what is special about each."""
    nothing: Mapping[str, Any] = {}
    fields = written if isinstance(written, Mapping) else dict.fromkeys(written, nothing)
    return tuple(
        _host(text, tuple(each.get("methods") or ()), str(each.get("inject") or ""))
        for text, each in fields.items()
    )


def written_egress(hosts: tuple[EgressHost, ...]) -> dict[str, dict[str, Any]]:
    """What would make these hosts again."""
    found: dict[str, dict[str, Any]] = {}
    for each in hosts:
        found[each.written] = {
            **({"methods": list(each.methods)} if each.methods else {}),
            **({"inject": each.inject} if each.inject else {}),
        }
    return found


def reachable(hosts: tuple[EgressHost, ...], *, asks: bool) -> tuple[str, ...]:
    """Where a network of chosen hosts leads, in words."""
    others = ("others after a question",) if asks and hosts else ()
    return (*(_in_words(each) for each in hosts), *others)


def _in_words(each: EgressHost) -> str:
    more = [" ".join(each.methods)] if each.methods else []
    more += [f"with {each.inject}"] if each.inject else []
    return f"{each.written} ({', '.join(more)})" if more else each.written


def _host(text: str, methods: tuple[str, ...], inject: str) -> EgressHost:
    star = "*." if text.startswith("*.") else ""
    host, port = split_host(text.removeprefix(star), _HIGHEST_PORT)
    has_port = re.search(r":[0-9]+$", text) is not None
    return EgressHost(
        host=star + host, port=port if has_port else 0, methods=methods, inject=inject
    )
