"""That a registered device agrees: its signature over exactly what it was asked."""

import base64
import binascii
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

# A point of the curve, and a signature on it: two numbers of as many bytes.
_NUMBER = 32
_POINT = 1 + 2 * _NUMBER


def is_key(text: str) -> bool:
    """Whether it is a key that signatures can be judged by."""
    return _key(text) is not None


def is_signed(key: str, signature: str, words: Sequence[str]) -> bool:
    """Whether the device with that key has signed these words, in this order and no others."""
    public, signed = _key(key), _bytes(signature)
    if public is None or len(signed) != 2 * _NUMBER:
        return False
    first = int.from_bytes(signed[:_NUMBER], "big")
    second = int.from_bytes(signed[_NUMBER:], "big")
    try:
        public.verify(
            encode_dss_signature(first, second), signed_text(words), ec.ECDSA(hashes.SHA256())
        )
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_text(words: Sequence[str]) -> bytes:
    """What is signed. Each word says its length, so that none runs into the next."""
    return "".join(f"{len(word)}:{word}\n" for word in words).encode()


def _key(text: str) -> ec.EllipticCurvePublicKey | None:
    point = _bytes(text)
    if len(point) != _POINT:
        return None
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        return None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
