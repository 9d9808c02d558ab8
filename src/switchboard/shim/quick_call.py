"""`switchboard call` with a daemon that runs: asked and printed without loading the command line.

Only what is usual is done here. Whatever is not (other options, questions, steps of a start,
failures, long answers) is left to the command line, from the beginning or from where it stands: the
same request is never made twice. Standard library only, like the rest of the shim.
"""

import os
import sys

from switchboard.ipc.json_text import listed, members, quoted
from switchboard.ipc.lines import Gone, Line
from switchboard.ipc.paths import places_from
from switchboard.ipc.protocol import BEAT, SILENCE_S
from switchboard.shim.flags import CallWords, read_call, wants_in_process
from switchboard.shim.kept_session import Stranded
from switchboard.shim.main import BridgeRefused, introduce
from switchboard.shim.plain_answer import shown

_DONE, _FAILED, _INTERRUPTED = 0, 1, 130
# A person at a terminal sees what goes on after this: the command line shows it.
_SHOWN_AFTER_S = 0.25
# What is larger is for the command line.
_MOST_REQUEST_BYTES = 64 * 1024


def call(words: "list[str]", environ: "dict[str, str]") -> "int | Line | None":
    """Make the call, print what it answers, and give the exit code.

    None leaves all of it to the command line. A line is one on which the request was made: the
    command line has to go on with its answer.
    """
    wanted = read_call(words)
    if wanted is None or wants_in_process(environ) or not _has_streams():
        return None
    request = request_line(wanted, asks=sys.stdin.isatty() and sys.stderr.isatty())
    if request is None or len(request) > _MOST_REQUEST_BYTES:
        return None
    for flag, variable in (("home", "SWITCHBOARD_HOME"), ("skill", "SWITCHBOARD_SKILLS")):
        if wanted.flags.get(flag):
            environ[variable] = wanted.flags[flag]
    line = None
    try:
        line = _attached(wanted.flags, environ)
        if line is None or not _said(line, request):
            return None
        return _answered(line, wanted, environ)
    except KeyboardInterrupt:
        if line is not None:
            # The daemon then cancels what it does for us.
            line.close()
        return _INTERRUPTED


def request_line(wanted: CallWords, *, asks: bool) -> "bytes | None":
    """The request that the words mean, as `control.requests` reads it; None for unusual ones."""
    arguments = wanted.flags.get("args", "{}")
    if "\n" in arguments or members(arguments) is None:
        return None
    told = (
        ("do", quoted("call")),
        ("name", quoted(wanted.name)),
        ("subtool", quoted(wanted.subtool)),
        ("arguments", arguments),
        ("pairs", listed(wanted.pairs)),
        ("account", quoted(wanted.flags.get("account", ""))),
        ("asks", "true" if asks else "false"),
    )
    inside = ",".join(f'"{name}":{text}' for name, text in told)
    return f"{{{inside}}}\n".encode()


def _has_streams() -> bool:
    # Some callers close them.
    return not any(stream is None for stream in (sys.stdin, sys.stdout, sys.stderr))  # pyright: ignore[reportUnnecessaryComparison] - the stubs do not know


def _attached(flags: "dict[str, str]", environ: "dict[str, str]") -> "Line | None":
    """A daemon that runs and is ready with our board."""
    places = places_from(environ)
    if not os.path.exists(places.socket):
        return None
    try:
        return introduce(places, flags, environ)
    except (Stranded, BridgeRefused):
        # The command line finds the same, and has words for it.
        return None


def _said(line: Line, request: bytes) -> bool:
    try:
        line.say(request)
    except OSError:
        line.close()
        return False
    return True


def _answered(line: Line, wanted: CallWords, environ: "dict[str, str]") -> "int | Line":
    """Print a plain answer. Everything else is still to be heard on the line."""
    is_watched = sys.stderr.isatty() and environ.get("TERM") != "dumb"
    try:
        text = line.hear(_SHOWN_AFTER_S if is_watched else SILENCE_S)
        while text == BEAT and not is_watched:
            text = line.hear(SILENCE_S)
    except (Gone, TimeoutError):
        return line
    seen = shown(text, as_json=wanted.as_json, is_terminal=sys.stdout.isatty())
    if seen is None:
        line.put_back(text)
        return line
    line.close()
    return _printed(seen)


def _printed(text: str) -> int:
    # A terminal of another encoding shows a code instead of stopping the command.
    sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - it is a text stream
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has had enough, as `head` does; the interpreter must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _FAILED
    return _DONE
