"""The certificates that a person's programs believe, read for a process that cannot."""

import re

from switchkit.files import open_plain
from switchkit.platform.paths import true_path

# As many as come with systems, several times over.
_MOST_BYTES = 4 << 20
_CERTIFICATE = re.compile(
    rb"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[A-Za-z0-9+/=\s]+-----END \1-----"
)


def certificates_in(path: str) -> bytes:
    """The certificates of a file, and nothing else that it holds: others may have named it.

    Nothing where it has none, or cannot be read.
    """
    try:
        with open(true_path(path), "rb", opener=open_plain) as file:
            found = file.read(_MOST_BYTES)
    except (OSError, ValueError):
        return b""
    return b"".join(each.group() + b"\n" for each in _CERTIFICATE.finditer(found))
