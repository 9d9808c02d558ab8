"""Credentials, ports, addresses and methods where two rules meet."""

import asyncio
import gc
import ssl
from pathlib import Path

import httpx
import pytest

from egress.test_proxy import Inspected, trusting
from egress.world import SECRET, FakeResolver, Site, ok, way_out
from support.requirements import attack
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import LookedUp
from switchboard.children.secrets.texts import injected_secrets
from switchboard.core.network.egress import egress_from
from switchboard.egress.certificates import ChildAuthority
from switchboard.egress.refusals import EgressRefusal


class Person:
    """Says yes to some hosts, and notes what was asked."""

    def __init__(self, *agreed: str) -> None:
        self.agreed = agreed
        self.asked: list[str] = []
        self.channel = lambda: None

    async def ask(self, host: str, port: int) -> None:
        self.asked.append(host)
        if host not in self.agreed:
            raise EgressRefusal("denied", f"{host} is not on the list, and you said no", host, port)

    async def aclose(self) -> None:
        pass


class TwoSecrets:
    """A variable and a secret of the vault, under one name."""

    def resolve(self, entry: ServerEntry, reference: str, /) -> str:
        del entry
        return {"env:TOKEN": "token-of-other", "vault:mcp/tool/env/TOKEN": "token-of-mine"}[
            reference
        ]

    def mark(self) -> object:
        return None

    def handed_out(self, *_: object) -> None:
        pass


async def test_two_credentials_of_one_name_go_each_to_its_own_host(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        hosts = {
            f"other.test:{site.port}": {"inject": "env:TOKEN"},
            f"api.test:{site.port}": {"inject": "vault:mcp/tool/env/TOKEN"},
            f"127.0.0.1:{site.port}": {},
        }
        entry = ServerEntry(
            name="tool", transport="stdio", sandbox_profile="default", egress=egress_from(hosts)
        )
        looked = LookedUp(entry, injected_secrets(entry), TwoSecrets(), lambda _: None)
        async with way_out(
            hosts, parts.resolver, environ=parts.environ, look_up=looked.values
        ) as out:
            placeholder = out.way_out.env["TOKEN"]
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                for host in ("api.test", "other.test"):
                    await client.get(f"https://{host}:{site.port}/")
                    sent = {"X-Token": placeholder}
                    await client.get(f"https://{host}:{site.port}/", headers=sent)
    for head in site.requests[:2]:
        assert b"token-of-mine" in head
        assert b"token-of-other" not in head
    for head in site.requests[2:]:
        assert b"token-of-other" in head
        assert b"token-of-mine" not in head


async def test_a_port_that_is_changed_for_tls_is_judged_as_well() -> None:
    resolver = FakeResolver(api_test="203.0.113.1")
    async with way_out({"api.test:80": {"inject": "env:TOKEN"}}, resolver) as out:
        answer = await out.raw(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403 egress-refused")
        assert out.rows("refused") == [("api.test", 443, "port-not-listed")]
        assert resolver.asked == []


async def test_a_yes_covers_the_address_that_was_shown_and_no_other() -> None:
    async with Site().open() as site:

        async def fetched(*agreed: str, host: str) -> tuple[bytes, list[str]]:
            person = Person(*agreed)
            resolver = FakeResolver(intra_test="127.0.0.1")
            async with way_out(["api.test"], resolver, questions=person) as out:
                where = f"{host}:{site.port}"
                head = f"GET http://{where}/ HTTP/1.1\r\nHost: {where}\r\n\r\n"
                return await out.raw(head.encode(), then_eof=True), person.asked

        answer, asked = await fetched("127.0.0.1", host="127.0.0.1")
        assert answer.endswith(b"hello")
        assert asked == ["127.0.0.1"]
        # A name is agreed to first, and only then what it leads to.
        answer, asked = await fetched("intra.test", "127.0.0.1", host="intra.test")
        assert answer.endswith(b"hello")
        assert asked == ["intra.test", "127.0.0.1"]
        answer, asked = await fetched("intra.test", host="intra.test")
        assert answer.startswith(b"HTTP/1.1 403 egress-refused")
        answer, asked = await fetched(host="intra.test")
        assert answer.startswith(b"HTTP/1.1 403 egress-refused")
        assert asked == ["intra.test"]
        assert len(site.requests) == 2


async def test_a_name_is_not_looked_up_before_anybody_agreed_to_it() -> None:
    """Whoever owns the name could be told something by the look-up alone."""
    resolver = FakeResolver(secret_evil_test="203.0.113.1")
    async with way_out(["api.test"], resolver, questions=Person()) as out:
        await out.raw(b"CONNECT secret.evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert resolver.asked == []


@attack("T6")
@pytest.mark.parametrize(
    "name",
    [
        *("X-HTTP-Method-Override", "x-http-method", "X-Method-Override"),
        *("X_HTTP_Method_Override", "X-HTTP_Method-Override", "X-Original-Method"),
    ],
)
async def test_a_header_asks_for_no_other_method(tmp_path: Path, name: str) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        held, free = f"api.test:{site.port}", f"other.test:{site.port}"
        hosts = {held: {"methods": ["POST"]}, free: {}, f"127.0.0.1:{site.port}": {}}
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            verify = trusting(out, tmp_path)
            verify.load_verify_locations(parts.authority.file)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                sent = {name: "DELETE"}
                refused = await client.post(f"https://{held}/", headers=sent)
                assert refused.headers["x-switchboard"] == "method-override"
                # Where every method is allowed there is nothing to get around.
                assert (await client.post(f"https://{free}/", headers=sent)).status_code == 200
            assert len(site.requests) == 1


async def test_the_name_of_a_header_shows_no_credential(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Site().open(parts.context) as site:
        site.answer = lambda _: ok(b"", f"X-{SECRET}: 1", f"X-Two: {SECRET.upper()}")
        host = f"api.test:{site.port}"
        hosts = {host: {"inject": "env:TOKEN"}, f"127.0.0.1:{site.port}": {}}
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            verify = trusting(out, tmp_path)
            async with httpx.AsyncClient(proxy=out.url, verify=verify) as client:
                answer = await client.get(f"https://{host}/")
    assert SECRET not in str(answer.headers).lower()
    assert answer.headers[f"x-{'*' * len(SECRET)}"] == "1"


async def test_a_host_without_tls_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    parts = Inspected(tmp_path)
    async with Plain().open() as site:
        host = f"api.test:{site.port}"
        hosts = {host: {"inject": "env:TOKEN"}, f"127.0.0.1:{site.port}": {}}
        async with way_out(hosts, parts.resolver, environ=parts.environ) as out:
            head = f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"
            answer = await out.raw(head.encode())
            assert b"does not speak TLS; a credential travels over TLS only" in answer
            assert [each[2] for each in out.rows("failed")] == ["tls"]
            assert SECRET.encode() not in b"".join(site.requests)


class Plain(Site):
    """Answers whatever comes as a server without TLS does."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(await reader.read(4_096))
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()


def test_certificates_of_invented_names_do_not_pile_up() -> None:
    authority = ChildAuthority()
    first = authority.context("h0.example.com")
    assert authority.context("h0.example.com") is first
    del first
    for number in range(300):
        authority.context(f"h{number}.example.com")
    gc.collect()
    kept = [each for each in gc.get_referrers(ssl.SSLContext) if type(each) is ssl.SSLContext]
    assert len(kept) <= 80
