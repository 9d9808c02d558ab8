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
from switchboard.core.catalog.tools import Outline
from switchkit.files import make_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from switchboard.children.schema import ServerEntry

_MOST_SERVERS = 512
# Of clients whose end nobody sees, so many: a session is forgotten when it ends.
_MOST_SESSIONS = 4_096
_MOST_BYTES = 4 * 1024 * 1024
# Of clients that another daemon may go on with, as many; those before them may be told anew.
_MOST_FOLLOWED = 256


class ServerWords(Struct, frozen=True, omit_defaults=True):
    """What one server said of itself, as far as a description has room for it."""

    title: str = ""
    # The first words of its instructions.
    about: str = ""
    # Names of its tools, the most telling first.
    tools: tuple[str, ...] = ()
    # All of its instructions, where its tools are shown under their own names.
    instructions: str = ""
    # Its tools in their order, as many as there is room for.
    outlines: tuple[Outline, ...] = ()
    # Tools whose schemas hosts would refuse, with the rule that each breaks.
    refused: dict[str, str] = {}


class Kept(Struct, frozen=True):
    """The words of every server, by its mark."""

    # Random bytes of this home: a mark must not be a way to guess a secret of an entry.
    salt: bytes = b""
    servers: dict[str, ServerWords] = {}
    # Tools by their addresses, the most used first, and the day on which they were counted.
    used: tuple[str, ...] = ()
    counted: str = ""

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
        # Where what a client was told outlasts this daemon, by its holder.
        self._followed: dict[str, str] = {}

    def told(self, holder: str) -> Kept:
        """What was known when this client first asked."""
        kept = self._told.get(holder)
        if kept is None:
            if len(self._told) >= _MOST_SESSIONS:
                del self._told[next(iter(self._told))]
            kept = self._told[holder] = self.known()
            if (path := self._followed.get(holder)) is not None:
                self._set_aside(path, is_known=kept is not _NONE)
        return kept

    def follow(self, holder: str, client: str) -> None:
        """This client may outlast the daemon. It goes on with what an earlier one told it."""
        folder = os.path.join(os.path.dirname(self._path), "told-words")
        path = self._followed[holder] = os.path.join(folder, f"{client}.json")
        if os.path.exists(path):
            self._told[holder] = _loaded(path)

    def _set_aside(self, path: str, *, is_known: bool) -> None:
        """Have the file as it is now outlast its next change."""
        with contextlib.suppress(OSError):
            make_folder(folder := os.path.dirname(path))
            if is_known:
                # Another file will take its place, so the link keeps what is in it now.
                os.link(self._path, path)
            else:
                replace_file(path, b"", durable=False)
            others = sorted(os.scandir(folder), key=lambda each: each.stat().st_mtime_ns)
            for each in others[:-_MOST_FOLLOWED]:
                os.unlink(each.path)

    def forget(self, holder: str) -> None:
        """This client is gone, or another daemon goes on with it."""
        self._told.pop(holder, None)
        self._followed.pop(holder, None)

    def known(self) -> Kept:
        """What is known now."""
        try:
            found = os.stat(self._path)
        except OSError:
            return self._latest
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._stamp, self._latest = stamp, _loaded(self._path)
        return self._latest

    def keep(self, entry: ServerEntry, environ: Mapping[str, str], words: ServerWords) -> None:
        """Keep what a server says of itself now. For a thread of its own."""

        def added(kept: Kept) -> Kept:
            if not kept.salt:
                kept = replace(kept, salt=os.urandom(32))
            mark = kept.mark(entry, environ)
            if kept.servers.get(mark) == words:
                return kept
            others = {key: value for key, value in kept.servers.items() if key != mark}
            return replace(kept, servers={**others, mark: words})

        self._change(added)

    def rank(self, used: Sequence[str], day: str) -> None:
        """Keep which tools are used most. For a thread of its own."""
        self._change(lambda kept: replace(kept, used=tuple(used), counted=day))

    def _change(self, change: Callable[[Kept], Kept]) -> None:
        # A listing only reads, and everyone waits for the first one.
        from switchkit.locks import FolderLock  # noqa: PLC0415

        # A home that cannot be written has plain descriptions.
        with contextlib.suppress(OSError):
            make_folder(folder := os.path.dirname(self._path))
            # Servers that are introspected at once are learned at once, and none may be lost.
            with FolderLock(folder):
                before = _loaded(self._path)
                after = change(before)
                if after != before:
                    replace_file(self._path, _bounded(after), durable=False)


def _loaded(path: str) -> Kept:
    try:
        with open(path, "rb") as file:
            return _read(file.read(_MOST_BYTES))
    except (OSError, msgspec.MsgspecError):
        return _NONE


def _bounded(kept: Kept) -> bytes:
    """The file, without those servers for which there is no room; the oldest go first."""
    servers = dict(kept.servers)
    while True:
        text = msgspec.json.encode(replace(kept, servers=servers))
        if len(servers) <= _MOST_SERVERS and len(text) <= _MOST_BYTES:
            return text
        for mark in list(servers)[: max(1, len(servers) // 8)]:
            del servers[mark]


@cache
def kept_words(home: str) -> KeptWords:
    """Those of a home. They outlast a reload, so that sessions are told the same after it."""
    return KeptWords(home)
