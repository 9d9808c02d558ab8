"""A certificate authority of this user alone, good for names of this machine and nothing else.

`openssl` makes the keys and certificates. The authority's own key never leaves its folder, and its
certificate is limited to one ending of names, so that it is worthless for any real site.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from switchkit.files import make_private_folder
from switchkit.platform.files import scratch_file
from switchyard.core.environ import on_path
from switchyard.core.fault import YardFault
from switchyard.runtime.hooks import Runner

_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?"
_AUTHORITY = """[req]
distinguished_name = dn
x509_extensions = ca
prompt = no
[dn]
CN = Switchyard on this machine
[ca]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
nameConstraints = critical, permitted;DNS:localhost
"""
_LEAF = """[req]
distinguished_name = dn
prompt = no
[dn]
CN = Switchyard
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:{name}
authorityKeyIdentifier = keyid
"""
# What browsers accept at most.
_DAYS = "825"
# A page in a browser may ask for any name; those that are in use are made anew in a moment.
MOST_NAMES = 256
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def check_local(tld: str) -> None:
    """Refuse names that could be of another machine. Raises `YardFault`."""
    if tld != "localhost" and not tld.endswith(".localhost"):
        raise YardFault(
            "not-local",
            f"certificates are made for *.localhost alone, and names here end in `{tld}`",
            hint='set `tld = "localhost"` under [proxy]',
        )


class CertificateAuthority:
    """The authority in a folder; it may not be there yet."""

    def __init__(self, folder: Path, env: Mapping[str, str], run: Runner) -> None:
        self._folder = folder
        self._env = env
        self._run = run

    @property
    def certificate(self) -> Path:
        """What has to be trusted."""
        return self._folder / "authority.pem"

    @property
    def exists(self) -> bool:
        """Whether it was made."""
        return self.certificate.is_file() and (self._folder / "authority.key").is_file()

    def stamp(self) -> tuple[int, int] | None:
        """Which one it is: another number after it was made anew, none when it is gone."""
        try:
            found = self.certificate.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def make(self, tld: str) -> None:
        """Make it, unless it is there.

        Raises `YardFault` when `openssl` cannot, or when names do not end in `localhost`: one that
        is trusted must be worthless elsewhere, whatever the configuration of a project says.
        """
        check_local(tld)
        if self.exists:
            return
        make_private_folder(self._folder)
        config = self._written("authority.cnf", _AUTHORITY)
        key, made = self._folder / "authority.key", self._folder / "authority.new"
        words = ["req", "-x509", *_KEY, "-keyout", key, "-out", made, "-days", _DAYS]
        self._openssl(*words, "-config", config)
        key.chmod(0o600)
        made.chmod(0o600)
        made.replace(self.certificate)

    def leaf(self, name: str, tld: str) -> Path:
        """The certificate and key of one name, made at the first time. Raises `YardFault`."""
        if not re.fullmatch(_NAME, name) or not (name == tld or name.endswith(f".{tld}")):
            raise YardFault("not-ours", f"`{name[:80]}` is not a name of this machine")
        path = self._folder / "names" / f"{name}.pem"
        if path.is_file():
            return path
        make_private_folder(path.parent)
        self._make_room(path.parent)
        config = self._written(f"names/{name}.cnf", _LEAF.format(name=name))
        base = str(path.with_suffix(""))
        key, asked, made = f"{base}.key", f"{base}.csr", f"{base}.new"
        self._openssl("req", "-new", *_KEY, "-keyout", key, "-out", asked, "-config", config)
        signer = ["-CA", self.certificate, "-CAkey", self._folder / "authority.key"]
        extensions = ["-extfile", config, "-extensions", "leaf"]
        serial = ["-set_serial", f"0x{os.urandom(16).hex()}"]
        words = ["x509", "-req", "-in", asked, *signer, *serial, "-out", made, "-days", _DAYS]
        self._openssl(*words, *extensions)
        joined = Path(made).read_bytes() + Path(key).read_bytes()
        for one in (key, asked, made, config):
            Path(one).unlink(missing_ok=True)
        self._written(f"names/{name}.pem", joined.decode("ascii"))
        return path

    def remove(self) -> bool:
        """Remove keys and certificates; whether there were any."""
        was = self.exists
        for folder in (self._folder / "names", self._folder):
            if folder.is_dir():
                for path in folder.iterdir():
                    if path.is_file():
                        path.unlink()
                folder.rmdir()
        return was

    def _make_room(self, folder: Path) -> None:
        there = list(folder.glob("*.pem"))
        if len(there) >= MOST_NAMES:
            for path in there:
                path.unlink(missing_ok=True)

    def _written(self, name: str, text: str) -> Path:
        path = self._folder / name
        part = path.with_name(f".{path.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(text)
        part.replace(path)
        return path

    def _openssl(self, *words: object) -> None:
        program = on_path("openssl", self._env.get("PATH", os.defpath))
        if program is None:
            raise YardFault(
                "program-missing", "certificates need `openssl`, which is not installed"
            )
        with os.fdopen(scratch_file("openssl"), "rb") as output:
            command = [program, *map(str, words)]
            code = self._run(command, self._folder, self._env, output.fileno())
            if code != 0:
                output.seek(0)
                told = output.read().decode("utf-8", "replace").splitlines()[-20:]
                raise YardFault("openssl-failed", "`openssl` failed", details={"output": told})
