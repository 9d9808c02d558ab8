"""A signed token: its parts, and whether a key of the issuer signed it.

The key decides which signatures count, never the token: each algorithm goes with one kind of key,
and none goes with a secret that both sides know.
"""

import re
from base64 import urlsafe_b64decode
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from msgspec import UNSET, Struct

from switchboard.core.people import NotLetIn

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

LONGEST = 16 * 1024
_PART = re.compile(r"[A-Za-z0-9_-]+")
_PARTS = 3
_HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
# What a token calls itself that may be an access token: RFC 9068 has the first.
_KINDS = frozenset({"", "at+jwt", "application/at+jwt", "jwt", "application/jwt"})


class Header(Struct, frozen=True):
    """How a token says it was signed."""

    alg: str
    kid: str = ""
    typ: str = ""
    # Members that whoever checks has to know; we know none.
    crit: Any = UNSET


class SignedToken(Struct, frozen=True, kw_only=True):
    """A token whose signature nobody has looked at yet."""

    header: Header
    payload: bytes
    signed: bytes
    signature: bytes


def read_token(text: str) -> SignedToken:
    """The parts of a token. Raises NotLetIn."""
    parts = text.split(".")
    if len(text) > LONGEST or len(parts) != _PARTS or not all(map(_PART.fullmatch, parts)):
        raise NotLetIn("the token is not a signed one")
    head, payload, signature = map(decoded, parts)
    try:
        header = msgspec.json.decode(head, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotLetIn("the token does not say how it was signed") from None
    if header.crit is not UNSET:
        raise NotLetIn("the token wants something to be checked that is not known here")
    if header.typ.lower() not in _KINDS:
        raise NotLetIn("this is a token of another kind")
    signed = text.rpartition(".")[0].encode()
    return SignedToken(header=header, payload=payload, signed=signed, signature=signature)


def decoded(text: str) -> bytes:
    """Base64 as tokens have it. Raises NotLetIn."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise NotLetIn("the token is not a signed one") from None


def fits(key: PublicKey, algorithm: str) -> bool:
    """Whether signatures of this kind are made with such a key."""
    match key:
        case rsa.RSAPublicKey():
            return algorithm[:2] in {"RS", "PS"}
        case ec.EllipticCurvePublicKey():
            return key.curve.name == _CURVES.get(algorithm)
        case ed25519.Ed25519PublicKey():
            return algorithm == "EdDSA"


def is_signed_by(token: SignedToken, key: PublicKey) -> bool:
    """Whether this key made the signature, in the way that the token says."""
    algorithm = token.header.alg
    if not fits(key, algorithm):
        return False
    try:
        match key:
            case rsa.RSAPublicKey():
                kind = _HASHES[algorithm[2:]]
                pad = (
                    padding.PSS(padding.MGF1(kind), kind.digest_size)
                    if algorithm.startswith("PS")
                    else padding.PKCS1v15()
                )
                key.verify(token.signature, token.signed, pad, kind)
            case ec.EllipticCurvePublicKey():
                size = (key.curve.key_size + 7) // 8
                if len(token.signature) != 2 * size:
                    return False
                r, s = (int.from_bytes(each) for each in _halves(token.signature, size))
                kind = ec.ECDSA(_HASHES[algorithm[2:]])
                key.verify(encode_dss_signature(r, s), token.signed, kind)
            case ed25519.Ed25519PublicKey():
                key.verify(token.signature, token.signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _halves(signature: bytes, size: int) -> tuple[bytes, bytes]:
    return signature[:size], signature[size:]
