"""`switchboard mcp`: finds the daemon, introduces a client to it, and hands over its streams.

From then on the daemon reads and writes the client's pipes itself, so nothing is copied. The shim
stays for as long as the session does: its end is the session's end, and the daemon's end is its
own. Standard library only, because a client waits for it to start.
"""

import gc
import os
import stat
import sys

from switchboard.ipc.environment import DEPTH_VARIABLE, OF_ONE_PROCESS, hello_environment
from switchboard.ipc.hello import hello_line, object_text
from switchboard.ipc.lines import CannotStart, Gone, Line, connect
from switchboard.ipc.paths import DaemonPlaces, places_from
from switchboard.ipc.protocol import (
    BEAT,
    BUSY_GREETINGS,
    CLIENT,
    DECLINED,
    DRAIN,
    DRAINING,
    END,
    EVERYTHING,
    GREETING_S,
    MAX_ENVIRONMENT_BYTES,
    MAX_HELLO_BYTES,
    NEED,
    OTHER_ABI,
    READY,
    REFUSED,
    SECOND_SILENCE_S,
    SILENCE_S,
    STREAMS,
)
from switchboard.shim.flags import read_flags, wants_in_process
from switchkit.files import NotPrivate, make_private_folder
from switchkit.platform.light import processor_time

# A daemon of another version, then one that is just draining, then ours.
_ATTEMPTS = 4
_INTERRUPTED = 130
# The module `signal` costs more than the rest of the shim.
_SIGKILL = 9


class Stranded(Exception):
    """The daemon cannot be used; the text says why."""


class BridgeRefused(Exception):
    """The daemon knows what is wanted, and that it cannot be had."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


def serve(words: "list[str]", environ: "dict[str, str]") -> "int | None":
    """Serve through the daemon and give the exit code; None when this process has to serve."""
    flags = read_flags(words)
    if flags is None or wants_in_process(environ) or not (_is_stream(0) and _is_stream(1)):
        return None
    places = places_from(environ, flags.get("home", ""))
    if flags.get("skill"):
        environ = {**environ, "SWITCHBOARD_SKILLS": flags["skill"]}
    try:
        return _follow(introduce(places, flags, environ))
    except Stranded as stranded:
        _say(f"warning: {stranded}; serving in this process instead")
        return None
    except KeyboardInterrupt:
        return _INTERRUPTED


def serve_bridge(places: DaemonPlaces, flags: "dict[str, str]", environ: "dict[str, str]") -> int:
    """Serve one server through the daemon and give the exit code.

    Raises `BridgeRefused` when there is no such server, `Stranded` when there is no daemon.
    """
    if not (_is_stream(0) and _is_stream(1)):
        raise Stranded("the daemon serves pipes and sockets only")
    return _follow(introduce(places, flags, environ))


def _is_stream(number: int) -> bool:
    """Whether the daemon can wait for it. It must not outstay its client at a terminal."""
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def introduce(places: DaemonPlaces, flags: "dict[str, str]", environ: "dict[str, str]") -> Line:
    """A daemon that is ready with our board. Raises `Stranded` when there is none."""
    try:
        make_private_folder(places.folder)
        for _ in range(_ATTEMPTS):
            line = _reached(places, environ)
            try:
                answer, why = _greeted(line, places, flags, environ)
            except BaseException:
                line.close()
                raise
            if answer == READY:
                return line
            line.close()
            if answer == REFUSED:
                why, _, hint = why.partition("\t")
                raise BridgeRefused(why, hint)
            if answer == DECLINED:
                raise Stranded(f"the daemon does not serve this client: {why}")
    except NotPrivate as error:
        raise Stranded(f"the daemon's socket cannot be trusted: {error}") from None
    except CannotStart as error:
        raise Stranded(f"the daemon cannot start: {error}") from None
    except TimeoutError:
        raise Stranded("the daemon does not answer") from None
    except OSError as error:
        raise Stranded(f"the daemon cannot be reached: {error}") from None
    raise Stranded("every daemon that answered is about to end")


def _reached(places: DaemonPlaces, environ: "dict[str, str]") -> Line:
    line = connect(places.socket, GREETING_S)
    if line is None:
        # Only the first client waits for this to load, too.
        from switchboard.shim.start_daemon import start_daemon  # noqa: PLC0415

        return start_daemon(places, environ)
    return line


def _greeted(
    line: Line, places: DaemonPlaces, flags: "dict[str, str]", environ: "dict[str, str]"
) -> "tuple[str, str]":
    """The daemon's last word to our hello, and what it adds to it."""
    hello = hello_line(
        CLIENT,
        home=places.home,
        cwd=os.getcwd(),
        workspace=flags.get("workspace", ""),
        config=flags.get("config", ""),
        environ=hello_environment(environ),
        bridge=flags.get("bridge", ""),
        agent=flags.get("agent", ""),
        board=flags.get("board", ""),
        depth=environ.get(DEPTH_VARIABLE, ""),
    )
    try:
        _say_within(line, hello, MAX_HELLO_BYTES)
        while True:
            word, _, rest = _next_word(line).partition(" ")
            if word == NEED:
                _tell(line, rest, environ)
            elif word == OTHER_ABI:
                line.say(f"{DRAIN}\n".encode())
            else:
                return word, rest
    except (Gone, BrokenPipeError, ConnectionResetError):
        # It ended just now, and the next one will not.
        return DRAINING, ""


def _next_word(line: Line) -> str:
    """The daemon's next word. One that computes is busy, not frozen, and worth the wait.

    Another server in this process would only add to the load.
    """
    spent = processor_time(line.pid)
    for _ in range(BUSY_GREETINGS - 1):
        try:
            return line.hear(GREETING_S)
        except TimeoutError:
            spent, before = processor_time(line.pid), spent
            if spent is None or spent == before:
                raise
    return line.hear(GREETING_S)


def _tell(line: Line, wanted: str, environ: "dict[str, str]") -> None:
    """Exactly the variables that the configuration refers to."""
    names = list(environ) if wanted == EVERYTHING else wanted.split()
    known = {
        name: environ[name] for name in names if name in environ and name not in OF_ONE_PROCESS
    }
    _say_within(line, object_text(known).encode("ascii") + b"\n", MAX_ENVIRONMENT_BYTES)


def _say_within(line: Line, text: bytes, most: int) -> None:
    # The daemon would hang up in the middle, which looks as if it had ended.
    if len(text) > most:
        raise Stranded(
            f"the environment is too large for the daemon ({len(text)} bytes, at most {most})"
        )
    line.say(text)


def _follow(line: Line) -> int:
    """Hand the streams over and wait for the end of the session."""
    gc.enable()
    try:
        line.hand_over(STREAMS, (0, 1))
    except OSError as error:
        # Nothing of the client's has been read yet, so it can still be served.
        line.close()
        raise Stranded(f"the daemon did not take over ({error.strerror})") from None
    # Only the daemon holds them now, so that the client sees it when the daemon closes them.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    try:
        while True:
            word, _, rest = _heard(line).partition(" ")
            if word == END:
                return int(rest or 0)
            if word != BEAT:
                _say(f"error: the daemon said `{word}`, which makes no sense here")
                return 1
    except (Gone, OSError) as error:
        if isinstance(error, TimeoutError):
            _end_frozen(line.pid)
        else:
            _say("error: the daemon ended; the client has to connect anew")
        return 1


def _heard(line: Line) -> str:
    """The next word. A silence counts only twice: a machine that slept woke us first, maybe."""
    try:
        return line.hear(SILENCE_S)
    except TimeoutError:
        return line.hear(SECOND_SILENCE_S)


def _end_frozen(pid: int) -> None:
    """End a daemon that holds our client's streams and does nothing with them any more.

    Our own end would not close them, so a client that waits for its answer would wait for ever. The
    connection is still open, so the process is still the one that we met.
    """
    _say(f"error: the daemon (process {pid}) was silent for too long and has been ended")
    try:
        os.kill(pid, _SIGKILL)
    except OSError:
        return


def _say(text: str) -> None:
    # A client that closed our stderr, or does not read it, is served all the same.
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        return
