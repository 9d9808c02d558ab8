"""The key and the certificate by which phones know the address that we answer on.

Nobody has signed the certificate but itself: who accepts it compares its fingerprint with the one
in the terminal. It is kept, so that a phone is asked once.
"""

import datetime as dt
import hashlib
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchkit.files import make_folder, open_private, replace_file
from switchkit.locks import FolderLock

_NAME = "pocket-certificate.pem"
_MOST_BYTES = 16_384
# The longest that browsers believe.
_LIFETIME = dt.timedelta(days=397)
_LEAST_LEFT = dt.timedelta(days=7)
# Clocks differ.
_EARLIER = dt.timedelta(days=1)


class OwnCertificate(Struct, frozen=True, kw_only=True):
    """A file with both, and what a person compares."""

    path: str
    fingerprint: str


def own_certificate(home: str, address: str) -> OwnCertificate:
    """The certificate for an address, which is made if there is none. Raises a fault."""
    path = f"{home}/{_NAME}"
    try:
        make_folder(home)
        with FolderLock(home):
            found = _read(path)
            if found is None or not _is_for(found, address):
                replace_file(path, _made(address))
                found = _read(path)
    except OSError as error:
        raise _unusable(f"it cannot be read or written: {error.strerror}") from error
    if found is None:
        raise _unusable("it is not ours alone, or no certificate")
    return OwnCertificate(path=path, fingerprint=_fingerprint(found))


def _read(path: str) -> x509.Certificate | None:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False), "rb") as file:
            return x509.load_pem_x509_certificate(file.read(_MOST_BYTES))
    except (OSError, ValueError):
        return None


def _is_for(found: x509.Certificate, address: str) -> bool:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    is_fresh = found.not_valid_after_utc - dt.datetime.now(dt.UTC) > _LEAST_LEFT
    return is_fresh and ipaddress.ip_address(address) in names.get_values_for_type(x509.IPAddress)


def _made(address: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Switchboard")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _LIFETIME - _EARLIER)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    own = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return own + certificate.public_bytes(serialization.Encoding.PEM)


def _fingerprint(found: x509.Certificate) -> str:
    """As browsers show it."""
    digest = hashlib.sha256(found.public_bytes(serialization.Encoding.DER)).hexdigest().upper()
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))


def _unusable(why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "certificate-unusable",
        f"the file `{_NAME}` in Switchboard's home is not used: {why}",
        hint="remove it, and another one is made; phones then have to accept that",
    )
