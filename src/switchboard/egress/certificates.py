"""An authority for one child, which lives in memory and ends with it.

Its key never leaves this process. What it signs is believed by the one child that was shown its
certificate, so that we can see the requests to hosts for which that is needed.
"""

import datetime as dt
import ipaddress
import os
import ssl
from collections.abc import Mapping
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from switchkit.platform.files import scratch_file

_LIFETIME = dt.timedelta(days=30)
# Clocks differ.
_EARLIER = dt.timedelta(days=1)
_MOST_BUNDLE = 4 << 20
# A wildcard stands for any number of names, and a child may invent them.
_MOST_HOSTS = 64


class ChildAuthority:
    """Signs the certificates that one child is shown."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "Switchboard, for one server")]
        )
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        own = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = (
            self._blank(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(own, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)
        # One key for every host: only this child is shown it, and it is ours either way.
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts = lru_cache(maxsize=_MOST_HOSTS)(self._context)

    def context(self, host: str) -> ssl.SSLContext:
        """What we show a child that wants to talk to a host. The last ones are kept."""
        return self._contexts(host)

    def _context(self, host: str) -> ssl.SSLContext:
        key = self._host_key
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            self._blank(subject, key)
            .add_extension(x509.SubjectAlternativeName([_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(authority, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # A file without a name is the only way in.
        number = scratch_file("certificate")
        try:
            os.write(
                number,
                key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption(),
                )
                + certificate.public_bytes(serialization.Encoding.PEM),
            )
            context.load_cert_chain(f"/dev/fd/{number}")
        finally:
            os.close(number)
        return context

    def _blank(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _EARLIER)
            .not_valid_after(now + _LIFETIME)
        )


def bundle(own: bytes, environ: Mapping[str, str]) -> bytes:
    """Our authority with those that the child believes anyway: the variables name one file only."""
    usual = environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or ""
    try:
        with open(usual, "rb") as file:
            return file.read(_MOST_BUNDLE).rstrip() + b"\n" + own
    except OSError:
        return own


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
