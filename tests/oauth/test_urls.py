"""Addresses that are shown to a person or opened by a program."""

import pytest

from switchboard.core.faults import Fault
from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.urls import (
    checked_url,
    covers,
    is_issuer,
    resource_metadata_urls,
    server_metadata_urls,
    with_query,
)

STRANGER = AddressRules()
HERE = AddressRules(loopback=True)


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,hello",
        "-https://example.com/",
        "--help",
        "ftp://example.com/",
        "//example.com/",
        "https:///nowhere",
        "https://",
        "",
        "https://user@example.com/",
        "https://user:word@example.com/",
        "https://example.com/#part",
        "https://example.com/$(touch x)",
        "https://example.com/`id`",
        "https://example.com/'x",
        'https://example.com/"x',
        "https://example.com/\\x",
        "https://example.com/a b",
        "https://example.com/\x1b[2J",
        "https://example.com/\n",
        "https://example.com/\x7f",
        "https://exämple.com/",
        "https://example.com:99999/",
        "https://[::1",
        "https://example.com/" + "a" * 5000,
        "http://example.com/",
        "http://10.0.0.1/",
        "http://127.0.0.1:8080/",
        "https://localhost/",
    ],
)
def test_a_hostile_address_is_refused(url: str) -> None:
    with pytest.raises(Fault) as refused:
        checked_url(url, "the page", STRANGER)
    assert refused.value.reason == "login-url-refused"
    assert "\x1b" not in refused.value.message


@pytest.mark.parametrize("url", ["https://example.com/authorize?x=1", "https://a.b:8443/"])
def test_a_plain_address_is_fine(url: str) -> None:
    assert checked_url(url, "the page", STRANGER) == url


def test_plain_http_is_for_this_machine_alone_and_only_if_the_server_is_there() -> None:
    assert checked_url("http://127.0.0.1:1/x", "the page", HERE)
    with pytest.raises(Fault) as refused:
        checked_url("http://example.com/x", "`issuer_url`", HERE)
    assert "http://example.com would send a login unencrypted" in refused.value.message
    assert "https" in refused.value.hint


def test_where_servers_describe_themselves() -> None:
    assert resource_metadata_urls("https://h/a/mcp") == [
        "https://h/.well-known/oauth-protected-resource/a/mcp",
        "https://h/.well-known/oauth-protected-resource",
    ]
    assert server_metadata_urls("https://h/tenant") == [
        "https://h/.well-known/oauth-authorization-server/tenant",
        "https://h/.well-known/openid-configuration/tenant",
        "https://h/tenant/.well-known/openid-configuration",
    ]
    assert server_metadata_urls("https://h/") == [
        "https://h/.well-known/oauth-authorization-server",
        "https://h/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    ("resource", "url", "expected"),
    [
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h", "https://h/mcp", True),
        ("https://h/a", "https://h/a/mcp", True),
        ("https://h/a", "https://h/ab", False),
        ("https://other/mcp", "https://h/mcp", False),
        ("http://h/mcp", "https://h/mcp", False),
        ("https://h:444/mcp", "https://h/mcp", False),
        ("https://h:443/mcp", "https://h/mcp", True),
        ("https://h.evil/mcp", "https://h/mcp", False),
    ],
)
def test_which_resource_a_server_belongs_to(resource: str, url: str, expected: bool) -> None:
    assert covers(resource, url) is expected


def test_issuers_are_compared_letter_by_letter() -> None:
    assert is_issuer("https://h", "https://h")
    assert is_issuer("https://h/", "https://h")
    assert not is_issuer("https://h/a/", "https://h/a")
    assert not is_issuer("https://H", "https://h")
    assert not is_issuer("https://h:443", "https://h")


def test_an_endpoint_cannot_bring_our_own_parameters_along() -> None:
    assert (
        with_query("https://h/a?tenant=1", {"state": "s p"}) == "https://h/a?tenant=1&state=s%20p"
    )
    with pytest.raises(Fault):
        with_query("https://h/a?state=theirs", {"state": "ours"})
