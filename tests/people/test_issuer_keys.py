"""The keys of an issuer: when it is asked for them, and which of them count."""

import asyncio
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from people.ground import SigningKey
from support.requirements import attack
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.people import NotLetIn
from switchboard.people.issuer_keys import RENEW_S, STALE_S, IssuerKeys, read_keys
from switchboard.people.jws import is_signed_by, read_token
from switchboard.people.options import PeopleOptions
from switchboard.people.token_door import TokenDoor


class Publisher:
    """An issuer that publishes keys, or is away."""

    def __init__(self, *keys: SigningKey) -> None:
        self.keys = list(keys)
        self.asked = 0
        self.is_away = False
        self.now = 1_000.0

    async def fetch(self) -> bytes:
        self.asked += 1
        if self.is_away:
            raise Fault(FaultCode.UNAVAILABLE, "away", "it is away")
        return json.dumps({"keys": [key.jwk() for key in self.keys]}).encode()

    def store(self) -> IssuerKeys:
        return IssuerKeys(self.fetch, clock=lambda: self.now)


def token_of(key: SigningKey, **header: Any) -> Any:
    return read_token(jwt.encode({}, key.private, "RS256", headers={"kid": key.kid, **header}))


async def test_a_new_key_is_found_by_its_first_token_and_an_old_one_is_given_up() -> None:
    old, new = SigningKey("old"), SigningKey("new")
    issuer = Publisher(old)
    keys = issuer.store()
    await keys.of(token_of(old))
    issuer.keys = [new]
    issuer.now += RENEW_S
    await keys.of(token_of(new))
    assert issuer.asked == 2
    with pytest.raises(NotLetIn):
        await keys.of(token_of(old))


async def test_a_key_that_was_given_up_counts_no_longer_than_until_the_set_is_stale() -> None:
    old, new = SigningKey("old"), SigningKey("new")
    issuer = Publisher(old, new)
    keys = issuer.store()
    await keys.of(token_of(old))
    issuer.keys = [new]
    issuer.now += STALE_S
    with pytest.raises(NotLetIn):
        await keys.of(token_of(old))


async def test_tokens_with_unknown_keys_have_the_issuer_asked_twice_a_minute_at_most() -> None:
    known, stranger = SigningKey("known"), SigningKey("stranger")
    issuer = Publisher(known)
    keys = issuer.store()
    for _ in range(240):
        with pytest.raises(NotLetIn):
            await keys.of(token_of(stranger))
        issuer.now += 0.25
    assert issuer.asked == 2


async def test_while_the_issuer_is_away_its_known_keys_count_and_without_any_it_is_said() -> None:
    key = SigningKey()
    issuer = Publisher(key)
    keys = issuer.store()
    await keys.of(token_of(key))
    issuer.is_away = True
    issuer.now += 2 * STALE_S
    await keys.of(token_of(key))
    with pytest.raises(NotLetIn) as why:
        await issuer.store().of(token_of(key))
    assert why.value.status == 503


async def test_a_token_without_a_key_id_counts_where_there_is_one_key_alone() -> None:
    first, second = SigningKey("first"), SigningKey("second")
    token = read_token(jwt.encode({}, first.private, "RS256"))
    await Publisher(first).store().of(token)
    with pytest.raises(NotLetIn):
        await Publisher(first, second).store().of(token)


async def test_a_token_that_was_checked_is_remembered_for_moments_and_never_past_its_end() -> None:
    key = SigningKey()
    issuer = Publisher(key)
    options = PeopleOptions(issuer="https://i.test", resource="https://r.test", clock_skew=0)
    door = TokenDoor(options, {}, clock=lambda: issuer.now, keys=issuer.store())

    def signed(until: float) -> str:
        claims = {"iss": options.issuer, "aud": options.resource, "sub": "ada", "exp": until}
        return jwt.encode(claims, key.private, "RS256", headers={"kid": key.kid})

    short, long = signed(issuer.now + 10), signed(issuer.now + 9_000)
    for token in (short, long, short, long):
        assert (await door.person(token)).subject == "ada"
    # Another signature below the same words is another token.
    with pytest.raises(NotLetIn):
        await door.person(long[:-8] + "AAAAAAAA")
    issuer.now += 10
    with pytest.raises(NotLetIn, match="expired"):
        await door.person(short)
    issuer.keys = []
    issuer.now += STALE_S
    with pytest.raises(NotLetIn):
        await door.person(long)


_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
_KEYS: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512"), (_RSA, RSAAlgorithm)),
    **dict.fromkeys(("PS256", "PS384", "PS512"), (_RSA, RSAAlgorithm)),
    "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "ES384": (ec.generate_private_key(ec.SECP384R1()), ECAlgorithm),
    "ES512": (ec.generate_private_key(ec.SECP521R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
}


def _published(name: str, **more: Any) -> Any:
    private, kind = _KEYS[name]
    jwk = {**json.loads(kind.to_jwk(private.public_key())), **more}
    return read_keys(json.dumps({"keys": [{"kty": "oct", "k": "AAAA"}, jwk]}).encode())


@pytest.mark.parametrize("name", list(_KEYS))
def test_signatures_of_every_kind_are_told_from_others(name: str) -> None:
    text = jwt.encode({"sub": "ada"}, _KEYS[name][0], name)
    [found] = _published(name)
    token = read_token(text)
    assert found.may_have_signed(token)
    assert is_signed_by(token, found.key)
    head, _, signature = text.split(".")
    other = jwt.encode({"sub": "eve"}, _KEYS[name][0], name).split(".")[1]
    assert not is_signed_by(read_token(f"{head}.{other}.{signature}"), found.key)
    for changed in (signature[:-8], "A" * len(signature), signature + "AAAA"):
        assert not is_signed_by(read_token(f"{head}.{other}.{changed}"), found.key)
    for another in _KEYS:
        [key] = _published(another)
        fits = _KEYS[another][0] is _KEYS[name][0]
        assert (key.may_have_signed(token), is_signed_by(token, key.key)) == (fits, fits)


def test_a_key_that_is_for_something_else_or_too_short_or_broken_signs_nothing() -> None:
    assert _published("RS256", use="enc") == ()
    assert _published("RS256", n="AAAA") == ()
    assert _published("ES256", crv="P-192") == ()
    assert _published("ES256", x="AAAA") == ()
    assert read_keys(b"[]") == read_keys(b"no") == read_keys(b'{"keys": [1, "a", {}]}') == ()
    [bound] = _published("RS256", alg="RS512")
    assert not bound.may_have_signed(read_token(jwt.encode({}, _RSA, "RS256")))
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    jwk = json.loads(RSAAlgorithm.to_jwk(weak.public_key()))
    assert read_keys(json.dumps({"keys": [jwk]}).encode()) == ()


@attack("T79")
async def test_many_who_begin_a_login_have_the_issuer_asked_once_in_a_while() -> None:
    asked = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        answering.append(asyncio.current_task())
        while (await reader.read(65_536)) != b"":
            asked += 1
            about = {
                name: f"{issuer}/{name}" for name in ("authorization_endpoint", "token_endpoint")
            }
            about |= {"issuer": issuer, "code_challenge_methods_supported": ["S256"]}
            body = json.dumps(about).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()
        await writer.wait_closed()

    answering: list[asyncio.Task[None] | None] = []
    serving = await asyncio.start_server(answer, "127.0.0.1", 0)
    issuer = f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
    now = 1_000.0
    options = PeopleOptions(issuer=issuer, resource="https://team.test/mcp")
    door = TokenDoor(options, {}, clock=lambda: now)
    async with serving:
        found = await asyncio.gather(*(door.server() for _ in range(20)))
        assert {each.token_url for each in found} == {f"{issuer}/token_endpoint"}
        assert asked == 1
        now += RENEW_S
        await door.server()
        assert asked == 2
        await door.aclose()
        await asyncio.gather(*filter(None, answering))
