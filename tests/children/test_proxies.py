"""A remote server is reached through the proxy that the session's variables name."""

import pytest

from switchboard.children.http.proxy import proxy_for

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, None),
        ({"HTTPS_PROXY": PROXY}, PROXY),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other.example"}, PROXY),
        ({"HTTP_PROXY": PROXY}, None),
        ({"ALL_PROXY": PROXY}, PROXY),
        ({"HTTPS_PROXY": "proxy.example:3128"}, PROXY),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "else.example, docs.example"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": ".example"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "docs.example:443"}, None),
        ({"HTTPS_PROXY": PROXY, "NO_PROXY": "ocs.example"}, PROXY),
    ],
)
def test_the_proxy_of_a_server(environ: dict[str, str], found: str | None) -> None:
    assert proxy_for("https", "docs.example", environ) == found
