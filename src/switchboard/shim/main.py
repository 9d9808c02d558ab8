"""`switchboard mcp`: finds the daemon, introduces a client to it, and hands over its streams.

From then on the daemon reads and writes the client's pipes itself, so nothing is copied. The shim
stays for as long as the session does: its end is the session's end, and when the daemon ends it
finds another. Standard library only, because a client waits for it to start.
"""

import os
import stat

from switchboard.ipc.environment import DEPTH_VARIABLE, chosen, hello_environment
from switchboard.ipc.hello import hello_line, object_text
from switchboard.ipc.lines import CannotStart, Gone, Line, connect
from switchboard.ipc.paths import DaemonPlaces, places_from
from switchboard.ipc.protocol import (
    BUSY_GREETINGS,
    CLIENT,
    DECLINED,
    DRAIN,
    DRAINING,
    GREETING_S,
    MAX_ENVIRONMENT_BYTES,
    MAX_HELLO_BYTES,
    NEED,
    OTHER_ABI,
    READY,
    REFUSED,
)
from switchboard.shim.flags import read_flags, wants_in_process
from switchboard.shim.kept_session import KeptSession, OtherVersion, Stranded, say
from switchkit.files import NotPrivate, make_private_folder
from switchkit.platform.light import processor_time

# A daemon of another version, then one that is just draining, then ours.
_ATTEMPTS = 4
_INTERRUPTED = 130


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
        environ["SWITCHBOARD_SKILLS"] = flags["skill"]
    try:
        return _served(places, flags, environ)
    except Stranded as stranded:
        say(f"warning: {stranded}; serving in this process instead")
        return None
    except KeyboardInterrupt:
        return _INTERRUPTED


def serve_bridge(places: DaemonPlaces, flags: "dict[str, str]", environ: "dict[str, str]") -> int:
    """Serve one server through the daemon and give the exit code.

    Raises `BridgeRefused` when there is no such server, `Stranded` when there is no daemon.
    """
    if not (_is_stream(0) and _is_stream(1)):
        raise Stranded("the daemon serves pipes and sockets only")
    code = _served(places, flags, environ)
    if code is None:
        raise Stranded("there is no daemon any more")
    return code


def _served(
    places: DaemonPlaces, flags: "dict[str, str]", environ: "dict[str, str]"
) -> "int | None":
    session = KeptSession(places.folder, environ)
    return session.follow(lambda again: introduce(places, flags, environ, again=again))


def _is_stream(number: int) -> bool:
    """Whether the daemon can wait for it. It must not outstay its client at a terminal."""
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _make_home(places: DaemonPlaces) -> None:
    if not os.path.lexists(places.home):
        from switchboard.ipc.new_home import told  # noqa: PLC0415 - once in the life of a home

        told(places.home)
    for folder in places.folders:
        make_private_folder(folder)


def introduce(
    places: DaemonPlaces,
    flags: "dict[str, str]",
    environ: "dict[str, str]",
    *,
    again: bool = False,
) -> Line:
    """A daemon that is ready with our board. Raises `Stranded` when there is none.

    A session that was with another daemon before asks none to make way: it may be of the version
    that this program was replaced by. Raises `OtherVersion` then.
    """
    try:
        _make_home(places)
        for _ in range(_ATTEMPTS):
            line = _reached(places, environ)
            try:
                answer, why = _greeted(line, places, flags, environ)
            except BaseException:
                line.close()
                raise
            if answer == READY:
                return line
            if answer == OTHER_ABI and not again:
                _make_drain(line)
            line.close()
            _raise_for(answer, why, again=again)
    except NotPrivate as error:
        raise Stranded(f"the daemon's socket cannot be trusted: {error}") from None
    except CannotStart as error:
        raise Stranded(f"the daemon cannot start: {error}") from None
    except TimeoutError:
        raise Stranded("the daemon does not answer") from None
    except OSError as error:
        raise Stranded(f"the daemon cannot be reached: {error}") from None
    raise Stranded("every daemon that answered is about to end")


def _raise_for(answer: str, why: str, *, again: bool) -> None:
    """Raise where another try would have the same answer."""
    if answer == REFUSED:
        why, _, hint = why.partition("\t")
        raise BridgeRefused(why, hint)
    if answer == DECLINED:
        raise Stranded(f"the daemon does not serve this client: {why}")
    if answer == OTHER_ABI and again:
        raise OtherVersion


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
            else:
                return word, rest
    except (Gone, BrokenPipeError, ConnectionResetError):
        # It ended just now, and the next one will not.
        return DRAINING, ""


def _make_drain(line: Line) -> None:
    try:
        line.say(f"{DRAIN}\n".encode())
        _next_word(line)
    except (Gone, BrokenPipeError, ConnectionResetError):
        # It has ended.
        return


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
    known = chosen(environ, wanted.split())
    _say_within(line, object_text(known).encode("ascii") + b"\n", MAX_ENVIRONMENT_BYTES)


def _say_within(line: Line, text: bytes, most: int) -> None:
    # The daemon would hang up in the middle, which looks as if it had ended.
    if len(text) > most:
        raise Stranded(
            f"the environment is too large for the daemon ({len(text)} bytes, at most {most})"
        )
    line.say(text)
