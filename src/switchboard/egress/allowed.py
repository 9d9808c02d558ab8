"""Which hosts, ports and addresses one child may reach."""

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

from switchboard.core.network.egress import EgressHost
from switchboard.egress.refusals import EgressRefusal
from switchboard.wire.ip_addresses import kind_of


class Destination(Struct, frozen=True, kw_only=True):
    """Where a connection goes, and what lets it."""

    host: str
    port: int
    # The line of the list, or the person's yes.
    rule: EgressHost
    # An address that is not public, and that a person agreed to.
    agreed: str = ""


class AllowedHosts:
    """The list of one child."""

    def __init__(self, hosts: Iterable[EgressHost]) -> None:
        # Exact names before wildcards, and of these the longest first.
        self._hosts = sorted(hosts, key=lambda each: (each.host.startswith("*."), -len(each.host)))

    def find(self, host: str, port: int) -> EgressHost | None:
        """The line of the list that stands for a host and port, both as they are compared."""
        return next((each for each in self._hosts if each.fits(host, port)), None)

    def knows(self, host: str) -> bool:
        """Whether a host is on the list, whatever the port."""
        return any(each.fits(host, each.port or 443) for each in self._hosts)

    def check_address(self, to: Destination, address: str) -> None:
        """A name on the list may lead to the public web; anywhere else only a listed address.

        The owner of a name decides what it stands for, so a name says nothing of a network. An
        address that a person was shown and agreed to is as good as one on the list.
        """
        host, port = to.host, to.port
        if kind_of(address) == "public" or address in (to.agreed, to.rule.host):
            return
        if self._is_listed(address, port) or (host == "localhost" and _is_loopback(address)):
            return
        shown = f"[{address}]" if ":" in address else address
        raise EgressRefusal(
            "address-not-public",
            f"{host} leads to {shown}, which is not a public address; "
            f'if that is meant, "{shown}" has to be on the list, too',
            host,
            port,
            address=address,
        )

    def _is_listed(self, address: str, port: int) -> bool:
        found = ipaddress.ip_address(address.partition("%")[0])
        mapped = getattr(found, "ipv4_mapped", None)
        wanted = str(mapped or found)
        return any(each.host == wanted and each.fits(wanted, port) for each in self._hosts)


def _is_loopback(address: str) -> bool:
    return kind_of(address) == "loopback"
