"""What a child reaches through its proxy, and what it does not."""

import asyncio
import socket
import ssl
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from egress.world import SECRET, FakeResolver, Out, OwnProxy, Site, ok, way_out
from support.authority import Authority
from switchboard.core.events import EgressRefused
from switchboard.core.network.egress import split_host
from switchboard.egress.limits import LIMITS
from switchboard.egress.resolving import HostResolver, SystemResolver
from switchboard.egress.variables import AUTHORITY_FILE
from switchboard.wire.http_hosts import in_url


async def test_a_listed_host_is_reached_in_the_clear_and_through_a_tunnel(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    resolver = FakeResolver(api_test="127.0.0.1")
    async with Site().open() as plain, Site().open(authority.context("api.test")) as secure:
        hosts = [
            *(f"api.test:{plain.port}", f"api.test:{secure.port}"),
            *(f"127.0.0.1:{plain.port}", f"127.0.0.1:{secure.port}"),
        ]
        async with way_out(hosts, resolver) as out:
            verify = ssl.create_default_context(cafile=str(authority.file))
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                for url in (
                    f"http://api.test:{plain.port}/a?b",
                    f"https://api.test:{secure.port}/",
                ):
                    for _ in range(2):
                        assert (await client.get(url)).text == "hello"
                answer = await client.post(
                    f"http://api.test:{plain.port}/c", content=b"x" * 200_000
                )
                assert answer.text == "hello"
            assert plain.bodies[-1] == b"x" * 200_000
            assert plain.requests[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: api.test:")
            reached = {(each.host, each.port): each for each in out.record.rows("tool")}
            assert reached[("api.test", plain.port)].times == 3
            assert reached[("api.test", plain.port)].bytes_up > 200_000
            assert out.heard.events == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("evil.test:443", "host-not-listed"),
        ("api.test:22", "port-not-listed"),
        ("xapi.test:443", "host-not-listed"),
        ("api.test.evil.test:443", "host-not-listed"),
        ("sub.test:443", "host-not-listed"),
        ("127.0.0.1:443", "host-not-listed"),
        ("[::1]:443", "host-not-listed"),
        ("[::ffff:127.0.0.1]:443", "host-not-listed"),
        ("[::ffff:7f00:1]:443", "host-not-listed"),
        ("169.254.169.254:80", "host-not-listed"),
        ("localhost:443", "host-not-listed"),
    ],
)
async def test_what_is_not_listed_is_refused_by_name_and_told(target: str, why: str) -> None:
    """Names that look like a listed one, addresses in any notation, and other ports."""
    resolver = FakeResolver()
    async with way_out(["api.test", "*.sub.test"], resolver) as out:
        answer = await out.raw(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        host, port = split_host(target, 0)
        said = f"HTTP/1.1 403 egress-refused: {why} {in_url(host)}:{port}\r\n"
        assert answer.startswith(said.encode())
        assert b"egress-refused: " in answer.partition(b"\r\n\r\n")[2]
        assert resolver.asked == []
        assert [each[2] for each in out.rows("refused")] == [why]
        (event,) = out.heard.events
        assert isinstance(event, EgressRefused)
        assert event.reason == why
        fault = out.way_out.refused()
        assert fault is not None
        assert fault.reason == "egress-refused"


@pytest.mark.parametrize(
    "target",
    [
        *("2130706433:443", "0x7f000001:443", "127.1:443", "0177.0.0.1:443", "1.2.3.4.5:443"),
        *(
            "api.test",
            "api.test:",
            "api.test:0",
            "api.test:99999",
            "api.test:+443",
            "api.test:443 ",
        ),
        *("user@api.test:443", "api.test%00:443", "ap\u0131.test:443", "[api.test]:443", ":443"),
        *("api.test..:443", "api_.test.:x", "https://api.test:443", "[::1%25lo]:443"),
    ],
)
async def test_what_is_no_host_and_port_is_not_guessed_at(target: str) -> None:
    """Numbers that the C library takes for addresses, ports with signs, and other notations."""
    resolver = FakeResolver(api_test="127.0.0.1")
    async with way_out(["api.test", "1.2.3.4"], resolver) as out:
        head = f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        answer = await out.raw(head, then_eof=True)
        assert answer.startswith(b"HTTP/1.1 400 egress-malformed\r\n")
        assert resolver.asked == []


@pytest.mark.parametrize("written", ["API.test", "api.test.", "Api.Test."])
async def test_case_and_a_final_dot_change_nothing(written: str) -> None:
    async with Site().open() as site:
        hosts = [f"api.test:{site.port}", f"127.0.0.1:{site.port}"]
        async with way_out(hosts, FakeResolver(api_test="127.0.0.1")) as out:
            url = f"http://{written}:{site.port}/"
            answer = await out.raw(
                f"GET {url} HTTP/1.1\r\nHost: {written}:{site.port}\r\n\r\n".encode(),
                then_eof=True,
            )
            assert answer.endswith(b"hello")
            assert f"Host: api.test:{site.port}\r\n".encode() in site.requests[0]


async def test_a_listed_name_does_not_lead_into_a_private_network() -> None:
    """Whoever owns a name decides what it stands for, so a name opens the public web alone."""
    async with Site().open() as site:
        inside = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.0")
        for address in inside:
            resolver = FakeResolver(api_test=[["93.184.216.34", address]])
            async with way_out([f"api.test:{site.port}"], resolver) as out:
                target = f"api.test:{site.port}"
                answer = await out.raw(f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                assert answer.startswith(b"HTTP/1.1 403 egress-refused")
                assert [each[2] for each in out.rows("refused")] == ["address-not-public"]
        assert site.requests == []


async def test_the_address_that_was_checked_is_the_one_that_is_dialled() -> None:
    """A name that stands for another address at every look is looked up once for a connection."""
    async with Site().open() as site:
        resolver = FakeResolver(api_test=[["127.0.0.1"], ["10.255.255.1"]])
        hosts = [f"api.test:{site.port}", f"127.0.0.1:{site.port}"]
        async with way_out(hosts, resolver) as out:
            head = (
                f"GET http://api.test:{site.port}/ HTTP/1.1\r\nHost: api.test:{site.port}\r\n\r\n"
            )
            assert (await out.raw(head.encode(), then_eof=True)).endswith(b"hello")
            assert resolver.asked == ["api.test"]
            answer = await out.raw(head.encode(), then_eof=True)
            assert answer.startswith(b"HTTP/1.1 403 egress-refused")


@pytest.mark.parametrize(
    "head",
    [
        "POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding:chunked\r\n",
        "POST {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        "POST {url} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked, identity\r\n",
        "POST {url} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding : chunked\r\n",
        "GET {url} HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n",
        "GET {url} HTTP/1.1\r\nHost: {host}\r\nX: a\rb\r\n",
        "GET {url} HTTP/1.1\r\nHost: {host}\r\nX: a\0b\r\n",
        "GET {url} HTTP/1.1\r\nX: 1\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\n",
        "GET https://{host}/ HTTP/1.1\r\nHost: {host}\r\n",
        "GET ftp://{host}/ HTTP/1.1\r\nHost: {host}\r\n",
        "GET {url} HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n",
    ],
)
async def test_a_request_that_two_could_read_in_two_ways_goes_nowhere(head: str) -> None:
    async with Site().open() as site:
        host = f"api.test:{site.port}"
        hosts = [host, f"127.0.0.1:{site.port}"]
        async with way_out(hosts, FakeResolver(api_test="127.0.0.1")) as out:
            text = head.format(url=f"http://{host}/", host=host, long="x" * 40_000)
            answer = await out.raw(text.encode() + b"\r\n0\r\n\r\n", then_eof=True)
            assert answer.startswith(b"HTTP/1.1 400 egress-malformed")
            assert site.requests == []


async def test_a_request_that_names_another_host_in_its_header_is_refused() -> None:
    async with Site().open() as site:
        host = f"api.test:{site.port}"
        async with way_out(
            [host, f"127.0.0.1:{site.port}"], FakeResolver(api_test="127.0.0.1")
        ) as out:
            head = f"GET http://{host}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
            answer = await out.raw(head.encode())
            assert answer.startswith(b"HTTP/1.1 403 egress-refused")
            assert site.requests == []


async def test_what_belongs_to_one_hop_is_not_passed_on() -> None:
    async with Site().open() as site:
        host = f"api.test:{site.port}"
        async with way_out(
            [host, f"127.0.0.1:{site.port}"], FakeResolver(api_test="127.0.0.1")
        ) as out:
            head = (
                f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: x-private, host\r\n"
                "X-Private: 1\r\nProxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nX-Kept: 1\r\n"
                "\r\n"
            )
            assert (await out.raw(head.encode(), then_eof=True)).endswith(b"hello")
            sent = site.requests[0].lower()
            assert b"x-kept: 1" in sent
            for gone in (b"x-private", b"proxy-auth", b"upgrade", b"h2c"):
                assert gone not in sent


async def test_a_head_that_drips_is_not_waited_for() -> None:
    limits = replace(LIMITS, head_s=0.3)
    async with way_out(["api.test"], FakeResolver(), limits=limits) as out:
        reader, writer = await asyncio.open_connection("127.0.0.1", out.port)
        writer.write(b"GET http://api.test/ HTTP/1.1\r\nHo")
        async with asyncio.timeout(20):
            assert (await reader.read(-1)).startswith(b"HTTP/1.1 400 egress-malformed")
        writer.close()


async def test_a_child_has_so_many_connections_and_no_more() -> None:
    limits = replace(LIMITS, connections=3)
    async with way_out(["api.test"], FakeResolver(), limits=limits) as out:
        idle = [await asyncio.open_connection("127.0.0.1", out.port) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert b"too many connections" in await out.raw(b"", then_eof=True)
        for _, writer in idle:
            writer.close()


async def test_a_flood_of_refusals_fills_neither_the_record_nor_the_log() -> None:
    async with way_out(["api.test"], FakeResolver()) as out:
        for number in range(260):
            await out.raw(f"CONNECT h{number}.test:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert len(list(out.record.rows())) == 200
        assert len(out.heard.events) == LIMITS.events


async def test_a_tunnel_in_which_nothing_moves_ends() -> None:
    limits = replace(LIMITS, idle_s=0.3)
    async with Site().open() as site:
        host = f"api.test:{site.port}"
        hosts = [host, f"127.0.0.1:{site.port}"]
        async with way_out(hosts, FakeResolver(api_test="127.0.0.1"), limits=limits) as out:
            answer = await out.raw(f"CONNECT {host} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 200")


class Inspected:
    """A host whose requests we see."""

    def __init__(self, tmp_path: Path) -> None:
        self.authority = Authority(tmp_path)
        self.context = self.authority.context("api.test", "other.test")
        self.environ = {"SSL_CERT_FILE": str(self.authority.file)}
        self.resolver = FakeResolver(api_test="127.0.0.1", other_test="127.0.0.1")


def trusting(out: Out, tmp_path: Path) -> ssl.SSLContext:
    """What a child believes: the file that it is shown."""
    file = tmp_path / "shown.pem"
    file.write_bytes(out.way_out.outlet.files[AUTHORITY_FILE])
    return ssl.create_default_context(cafile=str(file))


async def test_a_credential_is_put_on_at_the_edge_and_never_shown(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        site.answer = lambda head: ok(head, f"X-Echo: {SECRET}")
        host, other = f"api.test:{site.port}", f"other.test:{site.port}"
        hosts = {
            host: {"inject": "env:TOKEN"},
            other: {"methods": ["GET"]},
            f"127.0.0.1:{site.port}": {},
        }
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            placeholder = out.way_out.env["TOKEN"]
            assert SECRET not in str(out.way_out.env)
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                # In the place of the placeholder, as a password, and where nothing was said.
                sent = {"Authorization": f"token {placeholder}"}
                answers = [await client.get(f"https://{host}/", headers=sent)]
                answers += [await client.get(f"https://{host}/", auth=("me", placeholder))]
                answers += [await client.get(f"https://{host}/")]
                # In the clear with us, and by TLS from us on.
                answers += [await client.get(f"http://{host}/")]
                # For another host it is a word as any other.
                answers += [await client.get(f"https://{other}/", headers=sent)]
            heads = [head.decode() for head in site.requests]
            assert f"token {SECRET}" in heads[0]
            assert "Basic bWU6dGhlLXRva2VuLW9mLXRoZS11c2Vy" in heads[1]
            assert f"Bearer {SECRET}" in heads[2]
            assert f"Bearer {SECRET}" in heads[3]
            assert placeholder in heads[4]
            assert SECRET not in heads[4]
            for answer in answers[:4]:
                assert SECRET not in answer.text + str(answer.headers)
                assert "dGhlLXRva2VuLW9m" not in answer.text
                assert answer.headers["x-echo"] == "*" * len(SECRET)


async def test_a_redirect_to_another_host_takes_no_credential_along(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site, Site().open() as evil:
        site.answer = lambda _: (
            f"HTTP/1.1 302 Found\r\nLocation: http://evil.test:{evil.port}/\r\n"
            "Content-Length: 0\r\n\r\n"
        ).encode()
        host = f"api.test:{site.port}"
        parts.resolver.names["evil.test"] = "127.0.0.1"
        hosts = {
            host: {"inject": "env:TOKEN"},
            f"evil.test:{evil.port}": {},
            **{f"127.0.0.1:{port}": {} for port in (site.port, evil.port)},
        }
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            placeholder = out.way_out.env["TOKEN"]
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(
                proxy=out.url, verify=verify, follow_redirects=True
            ) as client:
                await client.get(f"https://{host}/", headers={"X-Token": placeholder})
            assert f"x-token: {SECRET}".encode() in site.requests[0]
            assert SECRET.encode() not in evil.requests[0]


async def test_a_value_that_comes_back_in_pieces_or_compressed_is_not_shown(
    tmp_path: Path,
) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        host = f"api.test:{site.port}"
        hosts = {host: {"inject": "env:TOKEN"}, f"127.0.0.1:{site.port}": {}}
        pieces = [SECRET[:7], SECRET[7:15], SECRET[15:] + "!"]
        chunks = "".join(f"{len(each):x}\r\n{each}\r\n" for each in pieces)
        chunked = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
        answers = [chunked.encode(), ok(b"\x1f\x8b", "Content-Encoding: gzip")]
        site.answer = lambda _: answers.pop(0)
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                asked = {"Range": "bytes=0-3", "Accept-Encoding": "gzip"}
                answer = await client.get(f"https://{host}/", headers=asked)
                assert answer.text == "*" * len(SECRET) + "!"
                assert b"range" not in site.requests[0].lower()
                assert b"accept-encoding: identity" in site.requests[0].lower()
                assert (await client.get(f"https://{host}/")).status_code == 502


async def test_methods_are_held_also_where_the_child_speaks_tls(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        host = f"api.test:{site.port}"
        hosts = {host: {"methods": ["GET", "POST"]}, f"127.0.0.1:{site.port}": {}}
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                assert (await client.post(f"https://{host}/", json={})).status_code == 200
                refused = await client.delete(f"https://{host}/")
                said = f"egress-refused: method-not-listed {host}"
                assert (refused.status_code, refused.reason_phrase) == (403, said)
                fronted = await client.get(f"https://{host}/", headers={"Host": "evil.test"})
                assert fronted.status_code == 403
            assert len(site.requests) == 1
            assert [each[2] for each in out.rows("refused")] == [
                "method-not-listed",
                "host-mismatch",
            ]


async def test_a_host_without_a_certificate_that_we_believe_gets_no_credential(
    tmp_path: Path,
) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.authority.context("evil.test")) as site:
        host = f"api.test:{site.port}"
        hosts = {host: {"inject": "env:TOKEN"}, f"127.0.0.1:{site.port}": {}}
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                assert (await client.get(f"https://{host}/")).status_code == 502
            assert site.requests == []
            assert [each[2] for each in out.rows("failed")] == ["certificate"]


async def test_connections_go_on_through_the_proxy_of_the_person(tmp_path: Path) -> None:
    """A name is then looked up by that proxy alone; an address is checked here all the same."""
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site, OwnProxy(site.port).open() as own:
        url = f"http://me:pass@127.0.0.1:{own.port}"
        environ = {**parts.environ, "HTTPS_PROXY": url, "http_proxy": url}
        hosts = {"api.test": {"inject": "env:TOKEN"}, "other.test": {}, "10.0.0.5": {}}
        resolver = FakeResolver()
        async with way_out(hosts, resolver, environ=environ) as out:
            verify = trusting(out, tmp_path)
            verify.load_verify_locations(parts.authority.file)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                assert (await client.get("https://api.test/")).text == "hello"
                assert (await client.get("https://other.test/")).text == "hello"
                assert (await client.get("http://other.test/x")).text == "through the proxy"
            refused = await out.raw(b"CONNECT 10.0.0.6:443 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert refused.startswith(b"HTTP/1.1 403")
        assert set(resolver.asked) == {"127.0.0.1"}
        assert own.requests[0].startswith(b"CONNECT api.test:443 HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic bWU6cGFzcw==\r\n" in own.requests[0]
        assert f"Bearer {SECRET}".encode() in site.requests[0]
        assert SECRET.encode() not in b"".join(own.requests)
        assert own.requests[-1].startswith(b"GET http://other.test/x HTTP/1.1\r\n")


@pytest.mark.parametrize("resolver", [SystemResolver(), FakeResolver(localhost="127.0.0.1")])
async def test_whoever_looks_names_up_keeps_the_contract(resolver: HostResolver) -> None:
    assert "127.0.0.1" in await resolver.addresses("localhost", 443)
    assert await resolver.addresses("192.0.2.7", 443) == ["192.0.2.7"]
    assert await resolver.addresses("::1", 443) == ["::1"]
    with pytest.raises(socket.gaierror):
        await resolver.addresses("nobody.invalid", 443)
