"""Hosts: what an address or a name stands for, and how it stands in a URL."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether it is this machine and nobody else reaches it."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def in_url(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
