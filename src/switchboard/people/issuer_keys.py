"""The keys of the issuer: fetched where it publishes them, and again when it has new ones.

Anybody can send a token with an unknown key, so tokens have us ask the issuer seldom.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.core.people import NotLetIn
from switchboard.people.jws import PublicKey, SignedToken, decoded, fits

# Not more often than that, however many tokens name keys that are not known.
RENEW_S = 30.0
# A key that the issuer has given up lets nobody in after that, if it can be asked.
STALE_S = 600.0
_MOST_KEYS = 64
_FEWEST_BITS = 2_048
_CURVES: dict[str, ec.EllipticCurve] = {
    "P-256": ec.SECP256R1(),
    "P-384": ec.SECP384R1(),
    "P-521": ec.SECP521R1(),
}


class _Jwk(Struct, frozen=True):
    """RFC 7517, as far as it is used. What a private key has besides is not read."""

    kty: str
    kid: str = ""
    alg: str = ""
    use: str = ""
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class _JwkSet(Struct, frozen=True):
    keys: list[msgspec.Raw]


class IssuerKey(Struct, frozen=True, eq=False):
    """One key that tokens may be signed with."""

    key: PublicKey
    id: str = ""
    # The only way in which it signs; empty where it does not say.
    algorithm: str = ""

    def may_have_signed(self, token: SignedToken) -> bool:
        """Whether a token names this key, or none, and was signed in a way that fits it."""
        said = token.header
        return (
            said.kid in {"", self.id}
            and self.algorithm in {"", said.alg}
            and fits(self.key, said.alg)
        )


class IssuerKeys:
    """Keys by what tokens say of them."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[bytes]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fetch` gives the published set, or raises a fault."""
        self._fetch = fetch
        self._clock = clock
        self._keys: tuple[IssuerKey, ...] = ()
        self._asked_at = -RENEW_S
        self._known_at = -STALE_S
        self._asking = asyncio.Lock()

    async def of(self, token: SignedToken) -> PublicKey:
        """The key that a token says it was signed with. Raises NotLetIn."""
        if self._clock() - self._known_at >= STALE_S:
            await self._renew()
        found = self._found(token)
        if not found:
            await self._renew()
            found = self._found(token)
        if not self._keys:
            message = "the issuer of tokens cannot be asked for its keys; try again"
            raise NotLetIn(message, error="temporarily_unavailable", status=503)
        if len(found) != 1:
            raise NotLetIn("the token was not signed with a key of the issuer")
        return found[0].key

    def _found(self, token: SignedToken) -> list[IssuerKey]:
        return [each for each in self._keys if each.may_have_signed(token)]

    async def _renew(self) -> None:
        async with self._asking:
            # Whoever waited for the lock waited for this.
            if self._clock() - self._asked_at < RENEW_S:
                return
            self._asked_at = self._clock()
            try:
                self._keys = read_keys(await self._fetch())
            except Fault:
                # What was known counts until the issuer can be asked.
                return
            self._known_at = self._clock()


def read_keys(body: bytes) -> tuple[IssuerKey, ...]:
    """Those of a published set that may sign tokens; others are passed over."""
    try:
        found = msgspec.json.decode(body, type=_JwkSet).keys
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()
    keys: list[IssuerKey] = []
    for raw in found[:_MOST_KEYS]:
        try:
            each = msgspec.json.decode(raw, type=_Jwk)
            key = None if each.use not in {"", "sig"} else _key(each)
        except (msgspec.MsgspecError, NotLetIn, ValueError):
            continue
        if key is not None:
            keys.append(IssuerKey(key, each.kid, each.alg))
    return tuple(keys)


def _key(jwk: _Jwk) -> PublicKey | None:
    match jwk.kty:
        case "RSA":
            key = rsa.RSAPublicNumbers(_number(jwk.e), _number(jwk.n)).public_key()
            return key if key.key_size >= _FEWEST_BITS else None
        case "EC" if jwk.crv in _CURVES:
            curve = _CURVES[jwk.crv]
            return ec.EllipticCurvePublicNumbers(_number(jwk.x), _number(jwk.y), curve).public_key()
        case "OKP" if jwk.crv == "Ed25519":
            return ed25519.Ed25519PublicKey.from_public_bytes(decoded(jwk.x))
        case _:
            return None


def _number(text: str) -> int:
    return int.from_bytes(decoded(text))
