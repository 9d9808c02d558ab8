"""The variables by which programs find their way out."""

from collections.abc import Iterable
from typing import Protocol

from switchboard.core.network.egress import EgressHost
from switchboard.wire.http_hosts import is_loopback

# In a network of its own every port is free; this one is where people expect a proxy.
PORT = 3128
AUTHORITY_FILE = "/run/switchboard-egress.pem"
BUNDLE_FILE = "/run/switchboard-authorities.pem"

_TO_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# A name that stands before the password; who answers does not look at it.
_USER = "switchboard"
# Read in the place of the usual authorities, so all of them are in the file.
_BUNDLES = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
    *("AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "HTTPLIB2_CA_CERTS", "NIX_SSL_CERT_FILE"),
    *("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"),
)
# Read beside the usual ones.
_ADDITIONS = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")
AUTHORITY_NAMES = (*_BUNDLES, *_ADDITIONS)


class Reached(Protocol):
    """Where our proxy listens, and what it asks whoever comes."""

    @property
    def port(self) -> int: ...
    @property
    def password(self) -> str: ...


def proxy_variables(hosts: Iterable[EgressHost], at: Reached) -> dict[str, str]:
    """What leads a program to our proxy. It wins over everything that was set before."""
    # By its number: inside there is nobody who knows names.
    user = f"{_USER}:{at.password}@" if at.password else ""
    url = f"http://{user}127.0.0.1:{at.port}"
    # A server of its own is in the same sandbox, unless that of the machine is on the list. Where
    # the network is not its own there is nothing on it but the proxy, which says so in words.
    is_asked = bool(at.password) or any(is_loopback(each.host) for each in hosts)
    direct = "" if is_asked else "localhost,127.0.0.1,::1"
    return {
        **dict.fromkeys((*_TO_PROXY, *map(str.lower, _TO_PROXY)), url),
        **dict.fromkeys(("NO_PROXY", "no_proxy", "npm_config_noproxy"), direct),
        "npm_config_proxy": url,
        "npm_config_https_proxy": url,
        # Node heeds the variables only if it is told to.
        "NODE_USE_ENV_PROXY": "1",
    }


def shown_authorities(name: str) -> str:
    """Where a process sees the file that a variable of its user names: a sandbox may hide it."""
    return f"/run/switchboard-{name.lower().replace('_', '-')}.pem"


def authority_variables() -> dict[str, str]:
    """What makes a program believe our authority."""
    return {**dict.fromkeys(_BUNDLES, BUNDLE_FILE), **dict.fromkeys(_ADDITIONS, AUTHORITY_FILE)}
