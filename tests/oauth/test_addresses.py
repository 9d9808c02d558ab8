"""No login leads into a network that only this machine reaches."""

import asyncio
import socket
from typing import Any

import pytest

from oauth.scripted_servers import Told, scripted_servers
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.core.faults import Fault
from switchboard.oauth.addresses import AddressRules, kind_of, rules_for
from switchboard.oauth.http.guarded_web import MOST_BYTES, GuardedWeb

STRANGER = AddressRules()
HERE = AddressRules(loopback=True)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("93.184.216.34", "public"),
        ("2606:2800:220:1:248:1893:25c8:1946", "public"),
        ("127.0.0.1", "loopback"),
        ("127.9.9.9", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("::127.0.0.1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("::ffff:10.0.0.1", "private"),
        ("64:ff9b::a00:1", "private"),
        ("100.64.0.1", "private"),
        ("fd12::1", "private"),
        ("169.254.169.254", "forbidden"),
        ("::ffff:169.254.169.254", "forbidden"),
        ("fe80::1", "forbidden"),
        ("fe80::1%eth0", "forbidden"),
        ("fec0::1", "forbidden"),
        ("fd00:ec2::254", "forbidden"),
        ("100.100.100.200", "forbidden"),
        ("168.63.129.16", "forbidden"),
        ("0.0.0.0", "forbidden"),
        ("::", "forbidden"),
        ("224.0.0.1", "forbidden"),
        ("255.255.255.255", "forbidden"),
        ("240.0.0.1", "forbidden"),
        ("198.18.0.1", "forbidden"),
        ("2001::1", "forbidden"),
        ("nothing", "forbidden"),
    ],
)
def test_what_an_address_leads_to(address: str, kind: str) -> None:
    assert kind_of(address) == kind


def test_private_networks_are_for_hosts_that_the_user_wrote_down() -> None:
    auth = OAuth(client_id="c", issuer_url="https://login.corp/tenant")
    entry = ServerEntry(name="a", transport="http", url="https://Mcp.corp/mcp", auth=auth)
    rules = rules_for(entry)
    assert rules.allows("mcp.corp", "10.0.0.5")
    assert rules.allows("login.corp", "192.168.1.1")
    assert not rules.allows("other.corp", "10.0.0.5")
    assert not rules.allows("mcp.corp", "169.254.169.254")
    assert not rules.allows("mcp.corp", "127.0.0.1")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "[::1]", "0x7f000001", "2130706433", "0177.0.0.1", "127.1"),
        *("0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "x.localhost"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_no_way_of_writing_this_machine_is_dialled(host: str, scheme: str) -> None:
    async with scripted_servers() as servers:
        web = GuardedWeb(STRANGER, {})
        with pytest.raises(Fault) as refused:
            await web.get(f"{scheme}://{host}:{servers.port}/secret", "the server")
        await web.aclose()
        assert refused.value.reason == "login-url-refused"
        assert servers.asked == []


@pytest.mark.parametrize("host", ["169.254.169.254", "10.1.2.3", "metadata.corp"])
async def test_private_addresses_are_refused_before_anything_is_sent(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _resolve(monkeypatch, {"metadata.corp": ["169.254.169.254"]})
    web = GuardedWeb(AddressRules(own_hosts=frozenset({"metadata.corp"})), {})
    with pytest.raises(Fault) as refused:
        await web.get(f"https://{host}/latest", "the server")
    assert refused.value.reason == "login-url-refused"


async def test_one_bad_address_among_good_ones_spoils_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _resolve(monkeypatch, {"mixed.example": ["93.184.216.34", "10.0.0.1"]})
    with pytest.raises(Fault) as refused:
        await GuardedWeb(STRANGER, {}).get("https://mixed.example/", "the server")
    assert refused.value.reason == "login-url-refused"


async def test_a_name_that_changes_its_address_is_dialled_as_it_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = _resolve(monkeypatch, {"rebinding.example": ["93.184.216.34"]})
    dialled: list[str] = []

    async def dial(*, remote_host: str, **_: Any) -> Any:
        dialled.append(remote_host)
        raise OSError("nobody there")

    monkeypatch.setattr("anyio.connect_tcp", dial)
    with pytest.raises(Fault) as failed:
        await GuardedWeb(STRANGER, {}).get("https://rebinding.example/", "the server")
    assert failed.value.reason == "login-unreachable"
    assert dialled == ["93.184.216.34"]
    assert asked == ["rebinding.example"]


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/secret",
        "https://169.254.169.254/",
        "file:///etc/passwd",
        "//10.0.0.1/",
    ],
)
async def test_redirects_are_judged_as_the_first_address_was(target: str) -> None:
    async with scripted_servers() as inner, scripted_servers() as outer:
        web = GuardedWeb(HERE, {})
        location = target.format(port=inner.port)
        outer.script["/a"] = Told(302, {}, {"location": location})
        if "127.0.0.1" in target:
            # Allowed here as this machine is allowed; what is not allowed is below.
            await web.get(f"{outer.base}/a", "the server")
            assert inner.paths() == ["/secret"]
        else:
            with pytest.raises(Fault) as refused:
                await web.get(f"{outer.base}/a", "the server")
            assert refused.value.reason == "login-url-refused"
            assert inner.asked == []
        await web.aclose()


async def test_a_form_is_never_sent_on_to_where_a_redirect_leads() -> None:
    async with scripted_servers() as servers:
        servers.script["/a"] = Told(307, {}, {"location": f"{servers.base}/b"})
        web = GuardedWeb(HERE, {})
        answer = await web.post_form(f"{servers.base}/a", "the server", {"secret": "s"})
        await web.aclose()
        assert answer.status == 307
        assert servers.paths() == ["/a"]


async def test_redirects_have_an_end_and_so_have_answers() -> None:
    async with scripted_servers() as servers:
        servers.script["/a"] = Told(302, {}, {"location": f"{servers.base}/a"})
        servers.script["/large"] = Told(200, b" " * (MOST_BYTES + 1))
        web = GuardedWeb(HERE, {})
        for path in ("/a", "/large"):
            with pytest.raises(Fault) as failed:
                await web.get(servers.base + path, "the server")
            assert failed.value.reason == "login-unreachable"
        await web.aclose()


async def test_a_proxy_is_not_asked_for_numbers() -> None:
    async with scripted_servers() as proxy:
        web = GuardedWeb(STRANGER, {"HTTPS_PROXY": proxy.base})
        with pytest.raises(Fault) as refused:
            await web.get("https://10.0.0.1/", "the server")
        assert refused.value.reason == "login-url-refused"
        # A name is for the proxy to find; this one refuses to lead there.
        with pytest.raises(Fault) as failed:
            await web.get("https://example.com/", "the server")
        assert failed.value.reason == "login-unreachable"
        await web.aclose()
        assert [each.method for each in proxy.asked] == ["CONNECT"]


def _resolve(monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]) -> list[str]:
    """Say what names stand for; gives those that were asked for."""
    asked: list[str] = []
    original = asyncio.BaseEventLoop.getaddrinfo

    async def resolve(self: Any, host: str, port: Any, **more: Any) -> Any:
        if host not in names:
            return await original(self, host, port, **more)
        asked.append(host)
        kind = socket.SOCK_STREAM
        return [(socket.AF_INET, kind, 6, "", (address, port)) for address in names[host]]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    return asked
