"""Addresses that servers name: which may be asked, which may be shown to a person."""

import re
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.faults import metadata_invalid, url_refused
from switchboard.wire.http_hosts import is_loopback

# What has no place in a URL, and a meaning in some shell or some program's options.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\"'`$\\<>^{|}]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST = 4_096
WELL_KNOWN = "/.well-known/"


def checked_url(url: str, what: str, rules: AddressRules) -> str:
    """The address, if it may be asked or shown. Raises a fault."""
    if len(url) > _LONGEST or _UNSAFE.search(url) or not url.isascii():
        raise url_refused(what, "it holds characters that no such address needs")
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise url_refused(what, "it is no address of the web") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise url_refused(what, "it is no address of the web")
    if parts.username is not None or parts.password is not None:
        raise url_refused(what, "it holds a user name")
    if parts.fragment:
        raise url_refused(what, "it holds a fragment")
    if parts.scheme == "http" and not is_loopback(host):
        raise url_refused(
            what,
            f"http://{host} would send a login unencrypted",
            hint="use https; plain http is allowed on this machine only",
        )
    if is_loopback(host) and not rules.loopback:
        raise url_refused(what, f"{host} is this machine, and the server is not on it")
    return url


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port. Two addresses of one origin are answered by one server."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return ("", "", None)
    return (parts.scheme.lower(), (parts.hostname or "").lower(), port)


def resource_of(url: str) -> str:
    """What a token is for, as the address of an MCP server says it: without its fragment."""
    parts = urlsplit(url)
    host = (parts.netloc.rpartition("@")[2]).lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path, parts.query, ""))


def covers(resource: str, url: str) -> bool:
    """Whether a resource is the server at this address, or a folder that it lies in."""
    if origin_of(resource) != origin_of(url) or urlsplit(resource).query:
        return resource == resource_of(url)
    wide, narrow = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return narrow == wide or narrow.startswith(f"{wide}/")


def is_issuer(stated: str, expected: str) -> bool:
    """Whether two issuers are the same, letter by letter; a root may end with a slash."""
    if stated == expected:
        return True
    longer, shorter = (stated, expected) if len(stated) > len(expected) else (expected, stated)
    return longer == f"{shorter}/" and not urlsplit(shorter).path


def resource_metadata_urls(url: str) -> list[str]:
    """Where RFC 9728 has a server describe itself: for its path, then for its host."""
    parts = urlsplit(url)
    base = f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}oauth-protected-resource"
    path = parts.path.rstrip("/")
    return [f"{base}{path}", base] if path else [base]


def server_metadata_urls(issuer: str) -> list[str]:
    """Where RFC 8414 and OpenID Connect have an authorization server describe itself."""
    parts = urlsplit(issuer)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    urls = [
        f"{base}{WELL_KNOWN}oauth-authorization-server{path}",
        f"{base}{WELL_KNOWN}openid-configuration{path}",
    ]
    return [*urls, f"{base}{path}{WELL_KNOWN}openid-configuration"] if path else urls


def with_query(url: str, members: dict[str, str]) -> str:
    """The address with these in its query, behind what stands there already."""
    parts = urlsplit(url)
    names = {pair.partition("=")[0] for pair in parts.query.split("&")}
    if names & members.keys():
        raise metadata_invalid("the authorization endpoint brings parameters of its own along")
    query = "&".join(filter(None, (parts.query, urlencode(members, quote_via=quote))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
