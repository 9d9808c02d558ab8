"""Which addresses may be dialled for a login: no server may lead us into our own network."""

import ipaddress
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.wire.http_hosts import is_loopback

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Kind = Literal["public", "private", "loopback", "forbidden"]

# Addresses of clouds that hand credentials to whoever asks; the rest of them is link-local.
_METADATA_SERVICES = frozenset(
    map(ipaddress.ip_address, ("168.63.129.16", "100.100.100.200", "fd00:ec2::254"))
)
# What belongs to a home, a company or an overlay network, and can be meant by its owner alone.
_PRIVATE = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"),
    )
)
_SITE_LOCAL = ipaddress.ip_network("fec0::/10")
# IPv4 in disguise: its last four bytes.
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))


class AddressRules(Struct, frozen=True, kw_only=True):
    """What the configuration of one server allows."""

    # The configured server is on this machine, so its login may be too.
    loopback: bool = False
    # The hosts that the user wrote down. They alone may be in a private network.
    own_hosts: frozenset[str] = frozenset()

    def allows(self, host: str, address: str) -> bool:
        """Whether this address, which the host stands for, may be dialled."""
        match kind_of(address):
            case "public":
                return True
            case "loopback":
                return self.loopback
            case "private":
                return host in self.own_hosts
            case "forbidden":
                return False


def rules_for(entry: ServerEntry) -> AddressRules:
    """The rules for the login of one server."""
    written = [entry.url]
    if (auth := entry.auth) is not None:
        written += [auth.issuer_url, auth.metadata_url, auth.authorization_url]
        written += [auth.token_url, auth.revocation_url]
    hosts = [host for url in written if url and (host := _host(url))]
    return AddressRules(loopback=is_loopback(_host(entry.url)), own_hosts=frozenset(hosts))


def kind_of(address: str) -> Kind:
    """What an address leads to. Anything that is not known to be harmless is forbidden."""
    try:
        found = _unwrapped(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return "forbidden"
    if found is None or found in _METADATA_SERVICES:
        return "forbidden"
    if found.is_loopback:
        return "loopback"
    if any(found in network for network in _PRIVATE if network.version == found.version):
        return "private"
    if found.is_multicast or found.is_reserved or not found.is_global:
        return "forbidden"
    return "public"


def _unwrapped(found: Address) -> Address | None:
    """The address that packets reach in the end; nothing where that cannot be said."""
    if isinstance(found, ipaddress.IPv4Address):
        return found
    if found.ipv4_mapped is not None:
        return found.ipv4_mapped
    if found.sixtofour is not None:
        return found.sixtofour
    if found.teredo is not None or found in _SITE_LOCAL:
        return None
    if not found.is_loopback and any(found in network for network in _TRANSLATED):
        return ipaddress.IPv4Address(found.packed[-4:])
    return found


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
