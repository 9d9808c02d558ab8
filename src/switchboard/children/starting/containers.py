"""Servers in containers: `docker run …` and `podman run …`, as a command line is written.

What we add stands right after `run`, so that whatever its owner wrote comes later and wins. What is
not known here is taken for an option with a value, as nearly all of them are.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import name_of
from switchboard.core.faults import Fault, FaultCode
from switchkit.containers import LABEL

_ENGINES = frozenset({"docker", "podman"})
# Options without a value, before `run` and after it.
# fmt: off
_GLOBAL_FLAGS = frozenset((
    "-D", "--debug", "--tls", "--tlsverify", "-r", "--remote", "--noout", "--syslog",
    "--transient-store",
))
_RUN_FLAGS = frozenset((
    "--detach", "--disable-content-trust", "--env-host", "--help", "--http-proxy", "--init",
    "--interactive", "--no-healthcheck", "--no-hostname", "--no-hosts", "--oom-kill-disable",
    "--passwd", "--privileged", "--publish-all", "--quiet", "--read-only", "--read-only-tmpfs",
    "--replace", "--rm", "--rmi", "--rootfs", "--sig-proxy", "--tls-verify", "--tty",
    "--unsetenv-all", "--use-api-socket",
))
# fmt: on
_LETTER_NAMES = {
    "d": "--detach",
    "i": "--interactive",
    "t": "--tty",
    "P": "--publish-all",
    "q": "--quiet",
}
_RUN_LETTERS = "".join(_LETTER_NAMES)
_NO = frozenset({"false", "0", "f", "F", "False", "FALSE"})
# Stands for what is new at every start.
_AT_START = "…"


class ContainerRun(Struct, frozen=True, kw_only=True):
    """A command line that has an engine run a container, in the words as they are written."""

    # The engine with the options that say which one is meant.
    engine: tuple[str, ...]
    # `run`, or `container run`, and everything after it.
    verb: tuple[str, ...]
    rest: tuple[str, ...]
    options: frozenset[str]

    def marked(self, server: str, token: str, label: str) -> tuple[str, ...]:
        """What is run instead: removed with its end, under a name and a label of ours."""
        added: list[str] = []
        # An engine refuses the two together.
        if not self.options & {"--rm", "--restart"}:
            added.append("--rm")
        if "--name" not in self.options:
            name = re.sub(r"[^A-Za-z0-9_.-]+", "-", server)[:40]
            added += ("--name", f"switchboard-{name}-{token}")
        return (*self.engine, *self.verb, *added, "--label", label, *self.rest)

    def shown(self, server: str, label: str) -> tuple[str, ...]:
        """The same for a person, who agrees to every start of it."""
        return self.marked(server, _AT_START, f"{label}={_AT_START}")

    def refusal(self) -> Fault | None:
        """Why it can be no server, if so."""
        if "--detach" not in self.options:
            return None
        return Fault(
            FaultCode.FAILED_PRECONDITION,
            "container-detached",
            "it starts its container detached (`-d`), so nobody can speak to it",
            hint="remove `-d` from `args`, and write `-i`",
        )


def in_container(entry: ServerEntry) -> ContainerRun | None:
    """What a server runs in a container that we answer for; nothing if it is another one.

    Not from inside a sandbox: what is confined must not have us run its engine unconfined.
    """
    if entry.transport != "stdio" or entry.sandbox_profile != "none":
        return None
    return container_run((entry.command, *entry.args))


def shown_command(entry: ServerEntry) -> str:
    """What a server runs, as a person is shown who has to agree to it.

    As it is written: options of ours that keep code of a workspace out let nothing in.
    """
    run = in_container(entry)
    words = (entry.command, *entry.args)
    return " ".join(words if run is None else run.shown(entry.name, LABEL))


def container_run(argv: Sequence[str]) -> ContainerRun | None:
    """What a command line runs in a container; nothing if it is another one."""
    if name_of(argv[0]) not in _ENGINES:
        return None
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        at += 1 if "=" in argv[at] or argv[at] in _GLOBAL_FLAGS else 2
    if at >= len(argv):
        return None
    verb = tuple(argv[at : at + 2]) if argv[at] == "container" else tuple(argv[at : at + 1])
    if verb not in {("run",), ("container", "run")}:
        return None
    rest = tuple(argv[at + len(verb) :])
    return ContainerRun(
        engine=tuple(argv[:at]), verb=verb, rest=rest, options=frozenset(_options(rest))
    )


def _options(words: Sequence[str]) -> Iterator[str]:
    """The options before the image, by their long names; those that say no only if they matter."""
    for name, value in options_of(words)[0]:
        if name != "--detach" or value not in _NO:
            yield name


def options_of(words: Sequence[str]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """The options after `run` with their values, and the image with what is run in it.

    Flags have their long names, and no value but what stands behind `=`.
    """
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        word = words[at]
        at += 1
        if word.startswith("--"):
            name, has_value, value = word.partition("=")
            if not has_value and name not in _RUN_FLAGS:
                value = words[at] if at < len(words) else ""
                at += 1
            found.append((name, value))
            continue
        flags = re.match(f"-[{_RUN_LETTERS}]*", word)
        assert flags is not None
        rest = word[flags.end() :]
        said = rest[1:] if rest.startswith("=") else ""
        found += [(_LETTER_NAMES[each], "") for each in flags[0][1:]]
        if said and found:
            # It belongs to the last letter alone.
            found[-1] = (found[-1][0], said)
        if rest and not rest.startswith("="):
            # The letter that is left takes the rest of the word, or the next one.
            value = rest[1:].removeprefix("=")
            if not value:
                value = words[at] if at < len(words) else ""
                at += 1
            found.append((f"-{rest[0]}", value))
    inner = tuple(words[at:])
    return found, inner[1:] if inner[:1] == ("--",) else inner
