"""What an IP address leads to: the web, a private network, or this machine."""

import ipaddress
from typing import Literal

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
