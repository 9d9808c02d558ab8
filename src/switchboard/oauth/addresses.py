"""Which addresses may be dialled for a login: no server may lead us into our own network."""

from urllib.parse import urlsplit

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.wire.http_hosts import is_loopback
from switchboard.wire.ip_addresses import kind_of


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


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
