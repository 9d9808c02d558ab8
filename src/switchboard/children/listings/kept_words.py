"""What servers said of themselves when they last ran, for clients that begin before they run.

One small file for all of them: a listing reads it and starts nothing. A session is told the same
words for as long as it lasts, because hosts keep what they have sent to a model before.
"""

from __future__ import annotations

import contextlib
import os

# `hashlib` is the same and loads OpenSSL, for which a first listing would wait.
from _blake2 import blake2s
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.accounts.acting_for import account_of
from switchboard.children.schema import as_a_process
from switchkit.files import make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from switchboard.children.schema import ServerEntry

_MOST_SERVERS = 512
# Of clients whose end nobody sees, so many: a session is forgotten when it ends.
_MOST_SESSIONS = 4_096
_MOST_BYTES = 1024 * 1024


class ServerWords(Struct, frozen=True, omit_defaults=True):
    """What one server said of itself, as far as a description has room for it."""

    title: str = ""
    # The first words of its instructions.
    about: str = ""
    # Names of its tools, the most telling first.
    tools: tuple[str, ...] = ()
    # All of its instructions, where its tools are shown under their own names.
    instructions: str = ""


class Kept(Struct, frozen=True):
    """The words of every server, by its mark."""

    # Random bytes of this home: a mark must not be a way to guess a secret of an entry.
    salt: bytes = b""
    servers: dict[str, ServerWords] = {}

    def of(self, entry: ServerEntry, environ: Mapping[str, str]) -> ServerWords | None:
        """What is known of a server, for whoever has the same account with it."""
        return self.servers.get(self.mark(entry, environ)) if self.servers else None

    def mark(self, entry: ServerEntry, environ: Mapping[str, str]) -> str:
        """What tells the server from any other, and the account that it acts for."""
        digest = blake2s(key=self.salt, digest_size=16)
        digest.update(msgspec.json.encode(as_a_process(entry)))
        digest.update(account_of(entry, environ))
        return digest.hexdigest()


_NONE = Kept()
_read = msgspec.json.Decoder(Kept).decode


class KeptWords:
    """The file, and what of it each session was told."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, "cache", "suite-words.json")
        self._latest = _NONE
        self._stamp: tuple[int, int] | None = None
        self._told: dict[str, Kept] = {}

    def told(self, holder: str) -> Kept:
        """What was known when this client first asked."""
        kept = self._told.get(holder)
        if kept is None:
            if len(self._told) >= _MOST_SESSIONS:
                del self._told[next(iter(self._told))]
            kept = self._told[holder] = self.known()
        return kept

    def forget(self, holder: str) -> None:
        """This client is gone, and asks no more."""
        self._told.pop(holder, None)

    def known(self) -> Kept:
        """What is known now."""
        try:
            found = os.stat(self._path)
        except OSError:
            return self._latest
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._stamp, self._latest = stamp, self._load()
        return self._latest

    def _load(self) -> Kept:
        try:
            with open(self._path, "rb") as file:
                return _read(file.read(_MOST_BYTES))
        except (OSError, msgspec.MsgspecError):
            return _NONE

    def keep(self, entry: ServerEntry, environ: Mapping[str, str], words: ServerWords) -> None:
        """Keep what a server says of itself now. For a thread of its own."""
        # A home that cannot be written has plain descriptions.
        # A listing only reads, and everyone waits for the first one.
        from switchkit.locks import FolderLock  # noqa: PLC0415

        with contextlib.suppress(OSError):
            make_folder(folder := os.path.dirname(self._path))
            # Servers that are introspected at once are learned at once, and none may be lost.
            with FolderLock(folder):
                self._add(entry, environ, words)

    def _add(self, entry: ServerEntry, environ: Mapping[str, str], words: ServerWords) -> None:
        kept = self._load()
        if not kept.salt:
            kept = replace(kept, salt=os.urandom(32))
        mark = kept.mark(entry, environ)
        if kept.servers.get(mark) == words:
            return
        others = {key: value for key, value in kept.servers.items() if key != mark}
        while len(others) >= _MOST_SERVERS:
            del others[next(iter(others))]
        text = msgspec.json.encode(replace(kept, servers={**others, mark: words}))
        replace_file(self._path, text, durable=False)


@cache
def kept_words(home: str) -> KeptWords:
    """Those of a home. They outlast a reload, so that sessions are told the same after it."""
    return KeptWords(home)
