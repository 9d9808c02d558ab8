"""A client's session, from one daemon to the next.

The daemon reads and writes the client's streams itself, but the shim keeps them, and a ledger of
them (`ipc.ledger`). When the daemon ends, however it ends, the shim answers what was open and hands
both to another daemon.
"""

import gc
import os
import sys
from time import monotonic

from switchboard.ipc.lines import Gone, Line
from switchboard.ipc.protocol import (
    BACK,
    BEAT,
    DECLINED,
    END,
    GREETING_S,
    LEDGER_VARIABLE,
    SECOND_SILENCE_S,
    SILENCE_S,
    STREAMS,
)
from switchkit.files import make_private_folder
from switchkit.platform.light import nameless_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Told whether the session was with another daemon before.
    Introduce = Callable[[bool], Line]

# What is written down of a session: what came, and what went.
_FILES = 2
# The module `signal` costs more than the rest of the shim.
_SIGKILL = 9
# A daemon that ends so often within so long ends again.
_MOST_ENDS = 5
_WITHIN_S = 60.0
_TRIES = 2


class Stranded(Exception):
    """The daemon cannot be used; the text says why."""


class OtherVersion(Exception):
    """The daemon that is there is of another version, maybe of the one that we have become."""


def _new_file(folder: str) -> int:
    try:
        return nameless_file(folder)
    except FileNotFoundError:
        # The first client of a home, where files have to lie somewhere.
        make_private_folder(folder)
        return nameless_file(folder)


class KeptSession:
    """The streams of a client, and the files of their ledger, if the system has any for it."""

    def __init__(self, folder: str, environ: "dict[str, str]") -> None:
        self._environ = environ
        found = _handed_over(environ.pop(LEDGER_VARIABLE, ""))
        # Whether another process has begun it.
        self._has_begun = bool(found)
        try:
            self._ledger = found or (_new_file(folder), _new_file(folder))
        except OSError:
            self._ledger = ()
        for file in self._ledger:
            os.set_inheritable(file, False)
        self._ends: list[float] = []

    def follow(self, introduce: "Introduce") -> "int | None":
        """Hand the session to one daemon after the other; gives the exit code.

        None when this process has to serve it. Raises `Stranded` when that is so from the start.
        """
        gc.enable()
        # One that has just become another version does as every new client does.
        line = self._next(introduce, again=False) if self._has_begun else introduce(False)
        if line is not None and not self._has_begun:
            self._hand_over(line)
        while line is not None:
            try:
                code = self._until_end(line)
            except Stranded as stranded:
                if not self._has_begun:
                    raise
                return self._strand(str(stranded))
            finally:
                line.close()
            if code is None:
                code = self._take_back()
            if code is not None:
                return code
            line = self._next(introduce)
        return None

    def _take_back(self) -> "int | None":
        """Answer what a daemon has left open; gives a code when the session ends here."""
        if not self._ledger:
            say("error: the daemon ended; the client has to reconnect")
            return 1
        # Most daemons outlive their clients.
        from switchboard.shim.aftermath import settle  # noqa: PLC0415

        if not settle(self._ledger, 1):
            return 0
        self._has_begun = True
        if len(self._ends) > _MOST_ENDS:
            say(f"error: the daemon ended {len(self._ends)} times within {_WITHIN_S:g} s")
            say("hint: switchboard daemon logs")
            return 1
        return None

    def _hand_over(self, line: Line) -> None:
        try:
            line.hand_over(STREAMS, (0, 1, *self._ledger))
        except OSError as error:
            # Nothing of the client's has been read yet, so it can still be served.
            line.close()
            raise Stranded(f"the daemon did not take over ({error.strerror})") from None

    def _next(self, introduce: "Introduce", *, again: bool = True) -> "Line | None":
        """Another daemon that has taken over; None when this process has to."""
        why = ""
        for _ in range(_TRIES):
            try:
                line = introduce(again)
                self._hand_over(line)
            except Stranded as stranded:
                why = str(stranded)
            except OtherVersion:
                self._become_new()
            else:
                return line
        return self._strand(why)

    def _strand(self, why: str) -> None:
        """Leave the session to this process."""
        say(f"warning: {why}; serving in this process instead")
        self._environ[LEDGER_VARIABLE] = self._words

    @property
    def _words(self) -> str:
        return ",".join(map(str, self._ledger))

    def _become_new(self) -> None:
        """Go on as the version that is installed now, in this very process."""
        for file in self._ledger:
            os.set_inheritable(file, True)
        environ = {**self._environ, LEDGER_VARIABLE: self._words}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606

    def _until_end(self, line: Line) -> "int | None":
        """The code that the session ended with; None when it can go on elsewhere."""
        try:
            while True:
                word, _, rest = _heard(line).partition(" ")
                if word == END:
                    return int(rest or 0)
                if word == BACK:
                    return None
                if word == DECLINED:
                    # Before anything was read: the streams have not come.
                    raise Stranded(f"the daemon does not serve this client: {rest}")
                if word != BEAT:
                    say(f"error: the daemon said `{word}`, which makes no sense here")
                    return 1
        except (Gone, OSError) as error:
            if isinstance(error, TimeoutError):
                _end_frozen(line)
            else:
                say("warning: the daemon ended; the session goes on with another")
        now = monotonic()
        self._ends = [*(each for each in self._ends if now - each < _WITHIN_S), now]
        return None


def _handed_over(words: str) -> "tuple[int, ...]":
    """The ledger that the version before us left open; nothing if a client made the words up."""
    try:
        files = tuple(map(int, words.split(",")))
        # Files without a name are ours: nobody else can have put a stream or a file of theirs here.
        is_ours = len({*files}) == _FILES and all(os.fstat(each).st_nlink == 0 for each in files)
    except (ValueError, OverflowError, OSError):
        return ()
    return files if is_ours else ()


def _heard(line: Line) -> str:
    """The next word. A silence counts only twice: a machine that slept woke us first, maybe."""
    try:
        return line.hear(SILENCE_S)
    except TimeoutError:
        return line.hear(SECOND_SILENCE_S)


def _end_frozen(line: Line) -> None:
    """End a daemon that holds our client's streams and does nothing with them any more.

    It could wake up and read what another is to read. The connection is still open, so the process
    is still the one that we met.
    """
    say(f"warning: the daemon (process {line.pid}) was silent for too long and has been ended")
    try:
        os.kill(line.pid, _SIGKILL)
        while True:
            line.hear(GREETING_S)
    except (Gone, OSError):
        return


def say(text: str) -> None:
    """Tell whoever reads our stderr. A client that closed it is served all the same."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        return
