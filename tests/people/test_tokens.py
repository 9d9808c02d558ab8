"""Who gets in at a gateway: whoever has a token of the issuer for us, and nobody else."""

import asyncio
import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator
from typing import Any

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization

from people.ground import SigningKey, Town, begin, client, modern, request, town
from support.requirements import attack
from switchboard.postgres.address import DatabaseAddress
from team.ground import TOKEN

pytestmark = pytest.mark.asyncio(loop_scope="module")
GROUPS = {"ada": ["staff", "writers"], "bob": ["staff"], "eve": ["guests"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(database: DatabaseAddress) -> AsyncGenerator[Town]:
    async with town(
        database, people={"required_group": "staff"}, groups=GROUPS, gateways=1
    ) as running:
        yield running


async def status_of(team: Town, token: str) -> tuple[int, str, str]:
    """Try a token; gives the status, what is said, and the challenge."""
    async with client() as http:
        body, headers = modern(token, "server/discover", {})
        answer = await http.post(team.resource, json=body, headers=headers)
    said = answer.json().get("error", {}).get("message", "")
    return answer.status_code, said, answer.headers.get("www-authenticate", "")


async def test_a_token_of_the_issuer_lets_its_person_in_and_is_written_down_with_them(
    team: Town,
) -> None:
    token = await team.log_in("ada")
    async with client() as http:
        session = await begin(http, team.resource, token)
        called = request("tools/call", {"name": "ledger_suite", "arguments": {"action": "call"}})
        await http.post(team.resource, json=called, headers=session)
        body, headers = modern(token, "tools/call", called["params"])
        await http.post(team.resource, json=body, headers=headers)
    records = await team.records(2, event="tool.call.refused")
    assert {each["protocol_version"] for each in records} == {"2025-11-25", "2026-07-28"}
    assert {(each["person"], each["person_name"]) for each in records} == {
        ("ada", "ada of the team")
    }


async def test_whoever_has_no_token_is_told_where_to_get_one(team: Town) -> None:
    async with client() as http:
        refused = await http.post(team.resource, json={})
        challenge = refused.headers["www-authenticate"]
        assert (refused.status_code, challenge.split()[0]) == (401, "Bearer")
        assert "error" not in challenge
        url = challenge.partition('resource_metadata="')[2].partition('"')[0]
        for each in (url, url.removesuffix("/mcp")):
            about = (await http.get(each)).json()
            assert about["resource"] == team.resource
            assert about["authorization_servers"] == [team.servers.issuer]
        assert (await http.post(url)).status_code == 405
        assert (await http.get(url, headers={"host": "elsewhere.test"})).status_code == 421


async def test_the_one_token_of_the_team_lets_nobody_in_unless_that_is_said(team: Town) -> None:
    status, _, challenge = await status_of(team, TOKEN)
    assert (status, 'error="invalid_token"' in challenge) == (401, True)


async def test_somebody_outside_of_the_group_is_refused(team: Town) -> None:
    status, said, _ = await status_of(team, await team.log_in("eve"))
    assert status == 403
    assert "does not belong" in said


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ({"iss": "http://127.0.0.1:9"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "https://elsewhere.test/mcp"}, "another server"),
        ({"aud": []}, "another server"),
        ({"aud": None}, "another server"),
        ({"aud": "public-client"}, "another server"),
        ({"exp": 1}, "expired"),
        ({"exp": None}, "how long"),
        ({"exp": True}, "how long"),
        ({"nbf": 99_999_999_999}, "not hold yet"),
        ({"iat": 99_999_999_999}, "not hold yet"),
        ({"sub": ""}, "whose it is"),
        ({"sub": "a\nb"}, "whose it is"),
        ({"sub": None}, "whose it is"),
        ({"groups": "guests"}, "does not belong"),
        ({"groups": {"staff": True}}, "does not belong"),
    ],
    ids=str,
)
async def test_a_signed_token_that_says_something_else_is_refused(
    team: Town, claims: dict[str, Any], says: str
) -> None:
    assert (await status_of(team, team.signed(groups=["staff"])))[0] == 200
    status, said, challenge = await status_of(team, team.changed({"groups": ["staff"], **claims}))
    assert status == (403 if "belong" in says else 401)
    assert says in said
    assert "resource_metadata=" in challenge


async def test_clocks_may_differ_by_a_minute(team: Town) -> None:
    now = int(time.time())
    for claims, status in (({"exp": now - 30}, 200), ({"exp": now - 90}, 401)):
        assert (await status_of(team, team.changed({"groups": ["staff"], **claims})))[0] == status
    for claims, status in (({"nbf": now + 30}, 200), ({"nbf": now + 120}, 401)):
        assert (await status_of(team, team.changed({"groups": ["staff"], **claims})))[0] == status


def _part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def _public(team: Town, *, pem: bool) -> bytes:
    encoding, form = (
        (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        if pem
        else (serialization.Encoding.DER, serialization.PublicFormat.PKCS1)
    )
    return team.key.private.public_key().public_bytes(encoding, form)


@pytest.mark.parametrize("name", ["none", "None", "nOnE", "HS256", "HS256-der", "", "RS1", "jwk"])
async def test_a_signature_that_anybody_can_make_is_none(team: Town, name: str) -> None:
    payload = team.signed(groups=["staff"]).split(".")[1]
    header: dict[str, Any] = {"alg": name.partition("-")[0], "kid": team.key.kid}
    if name == "jwk":
        stranger = SigningKey(team.key.kid)
        header |= {"alg": "RS256", "jwk": stranger.jwk(), "jku": f"{team.servers.issuer}/jwks"}
        token = team.signed(groups=["staff"], key=stranger)
        token = f"{_part(header)}.{payload}.{token.rpartition('.')[2]}"
    else:
        body = f"{_part(header)}.{payload}"
        made = hmac.digest(_public(team, pem="-" not in name), body.encode(), hashlib.sha256)
        token = f"{body}.{_part(made)}"
        if name.lower() == "none":
            assert (await status_of(team, f"{body}."))[0] == 401
    status, said, _ = await status_of(team, token)
    assert status == 401
    assert "sign" in said


@pytest.mark.parametrize(
    "token",
    ["a", "a.b", "a.b.c", "a.b.c.d", "....", "e30.e30.e30", "a" * 20_000, "ö.ö.ö", "a b.c.d"],
    ids=lambda token: token[:12],
)
async def test_what_is_no_token_is_refused_in_words(team: Town, token: str) -> None:
    async with client() as http:
        shown = [(b"authorization", f"Bearer {token}".encode())]
        answer = await http.post(team.resource, json={}, headers=shown)
    assert answer.status_code == 401


async def test_a_token_that_wants_more_to_be_checked_or_is_of_another_kind_is_refused(
    team: Town,
) -> None:
    claims = jwt.decode(team.signed(groups=["staff"]), options={"verify_signature": False})
    for more in ({"crit": ["exp"]}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}):
        head = {"kid": team.key.kid, "typ": "at+jwt", **more}
        token = jwt.encode(claims, team.key.private, "RS256", headers=head)
        assert (await status_of(team, token))[0] == 401


async def test_a_flood_of_unknown_keys_has_the_issuer_asked_once(
    team: Town,
) -> None:
    assert (await status_of(team, team.signed(groups=["staff"])))[0] == 200
    before = len(team.servers.those("keys"))
    strangers = [SigningKey(f"unknown-{number}") for number in range(2)]
    tokens = [team.signed(groups=["staff"], key=strangers[number % 2]) for number in range(60)]
    answers = await asyncio.gather(*(status_of(team, token) for token in tokens))
    assert {status for status, _, _ in answers} == {401}
    # Once for all of them, and not at all if it was asked moments ago.
    assert len(team.servers.those("keys")) - before <= 1
    assert (await status_of(team, team.signed(groups=["staff"])))[0] == 200


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        (b'{"alg":"\xff"}', b"{}"),
        (b'{"alg":"RS256","kid":"\xff"}', b"{}"),
        (b'{"alg":"RS256"}', b'{"iss":"\xff"}'),
        (b'{"alg":"RS256"}', b'{"\xff":1}'),
        (b'{"alg":"RS256"}', b'{"iss":"ISSUER","aud":"US","exp":1%s}' % (b"0" * 400)),
        (
            b'{"alg":"RS256"}',
            b'{"iss":"ISSUER","aud":"US","exp":9999999999,"nbf":-1%s}' % (b"0" * 400),
        ),
    ],
    ids=str,
)
@attack("T69")
async def test_what_no_issuer_would_write_is_refused_like_any_other_token(
    team: Town, header: bytes, payload: bytes
) -> None:
    payload = payload.replace(b"ISSUER", team.servers.issuer.encode())
    payload = payload.replace(b"US", team.resource.encode())
    parts = (urlsafe_b64encode(each).rstrip(b"=").decode() for each in (header, payload, b"sig"))
    async with client() as http:
        answer = await http.post(
            team.resource, json={}, headers={"authorization": f"Bearer {'.'.join(parts)}"}
        )
    assert (answer.status_code, 'error="invalid_token"' in answer.headers["www-authenticate"]) == (
        401,
        True,
    )
