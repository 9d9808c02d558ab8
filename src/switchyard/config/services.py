"""Reads one `[services.X]` table, with its checks, restart and stop rules."""

import re
import sys
from pathlib import Path
from typing import Any, cast

from switchyard.config.line_patterns import pattern_problem
from switchyard.config.reader import TableReader
from switchyard.config.shapes import Check, CheckKind, Condition, Restart, Service, Stop
from switchyard.config.shell_syntax import shell_syntax
from switchyard.core.quantities import seconds

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HIGHEST_PORT = 65535
_POSTGRES_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from switchyard.resources.postgres_server import main; main(sys.argv[1:])"
)
_POSTGRES = (
    sys.executable,
    "-I",
    "-S",
    "-c",
    _POSTGRES_BOOT,
    str(Path(__file__).parents[2]),
)
_STATUS = r"[1-5](?:\d\d|xx)"


def _statuses(table: TableReader, default: tuple[str, ...]) -> tuple[str, ...]:
    value = table.value("status")
    if value is None:
        return default
    given = cast("list[Any]", value if isinstance(value, list) else [value])
    made = tuple(str(one).lower() for one in given)
    if not made or not all(re.fullmatch(_STATUS, one) for one in made):
        table.problem("status", '`status` takes codes such as 200 or classes such as "2xx"')
        return default
    return made


def _pattern(table: TableReader, key: str) -> str:
    text = table.text(key)
    if wrong := pattern_problem(text):
        table.problem(key, wrong)
        return ""
    return text


def patterns(table: TableReader, key: str) -> tuple[str, ...]:
    """Regular expressions for lines of logs."""
    made = table.texts(key)
    for wrong in filter(None, map(pattern_problem, made)):
        table.problem(key, wrong)
    return made


def _check(table: TableReader, *, has_port: bool) -> Check:
    kinds = [kind for kind in ("tcp", "http", "log", "command", "delay") if kind in table]
    if len(kinds) > 1:
        table.problem(kinds[1], f"choose one of {', '.join(f'`{kind}`' for kind in kinds)}")
    kind = kinds[0] if kinds else ("tcp" if has_port else "alive")
    path, pattern, command, delay_s = "/", "", (), 0.3
    if kind == "tcp" and "tcp" in table:
        table.flag("tcp", default=True)
    elif kind == "http":
        path = table.text("http", "/")
        if not path.startswith("/") or any(c in path for c in " \r\n"):
            table.problem("http", "`http` is the path to request, such as `/healthz`")
    elif kind == "log":
        pattern = _pattern(table, "log")
    elif kind == "command":
        command = table.command("command")
    elif kind == "delay":
        delay_s = table.duration("delay", 0.3)
    if kind in ("tcp", "http") and not has_port:
        table.problem("", f"a `{kind}` check needs a `port`")
    check = Check(
        cast("CheckKind", kind),
        path=path,
        statuses=_statuses(table, ("2xx", "3xx")),
        pattern=pattern,
        command=command,
        delay_s=delay_s,
        timeout_s=table.duration("timeout", 60.0),
        interval_s=table.duration("interval", 10.0),
        failures=table.number("failures", 3, 1, 1000),
    )
    table.done(("tcp", "http", "log", "command", "delay"))
    return check


def _restart(table: TableReader) -> Restart:
    usual = Restart()
    first_s, last_s = usual.first_s, usual.last_s
    if "backoff" in table:
        low, dots, high = table.text("backoff").partition("..")
        first, last = seconds(low), seconds(high if dots else low)
        if first is None or last is None or last < first:
            table.problem("backoff", "`backoff` is a duration or a range such as `500ms..30s`")
        else:
            first_s, last_s = first, last
    else:
        table.value("backoff")
    made = Restart(
        policy=cast("Any", table.choice("policy", ("no", "on-failure", "always"), "on-failure")),
        max=table.number("max", usual.max, 0, 1_000_000),
        first_s=first_s,
        last_s=last_s,
        reset_after_s=table.duration("reset_after", usual.reset_after_s),
    )
    table.done()
    return made


def _signal(table: TableReader) -> int:
    text = table.text("signal", "SIGTERM").upper()
    name = text if text.startswith("SIG") else f"SIG{text}"
    if name == "SIGTERM":
        return Stop().signal
    from signal import Signals  # noqa: PLC0415

    if name not in Signals.__members__:
        table.problem("signal", f"`{name}` is not a signal")
        return Stop().signal
    return int(Signals[name])


def _stop(table: TableReader) -> Stop:
    chosen = _signal(table)
    command = table.command("command") if "command" in table else ()
    made = Stop(chosen, table.duration("grace", Stop().grace_s), command)
    table.done(("command",))
    return made


def _depends(table: TableReader) -> dict[str, Condition]:
    value = table.value("depends_on")
    if value is None:
        return {}
    if isinstance(value, list):
        return dict.fromkeys(table.texts("depends_on"), "ready")
    below = table.table("depends_on")
    return {
        name: cast("Condition", below.choice(name, ("started", "ready", "completed"), "ready"))
        for name in below.names()
    }


def loopback_host(table: TableReader) -> str:
    """A host name or address of this machine; anything else is a problem."""
    host = table.text("host", "127.0.0.1")
    if host not in LOOPBACK:
        table.problem("host", f"`{host}` is not this machine; use 127.0.0.1, localhost or ::1")
        return "127.0.0.1"
    return "127.0.0.1" if host == "localhost" else host


def inside(table: TableReader, key: str, path: str) -> bool:
    """Whether the relative path stays inside its folder; notes a problem if it does not."""
    parts = path.split("/")
    bad = path != path.strip() or path.startswith(("/", "~")) or "\0" in path
    if bad or any(part in ("", ".", "..") for part in parts):
        table.problem(key, f"`{path}` must be a relative path inside the project")
        return False
    return True


def _watch(table: TableReader) -> tuple[str, ...]:
    """Patterns of files below the worktree; one that begins with `!` takes files out again."""
    made = table.texts("watch")
    for one in made:
        inside(table, "watch", one.removeprefix("!").removesuffix("/"))
    return made


def _usual_stdin(kind: str) -> str:
    """Watchers end with their input, so a service's stays open; a task must not wait for any."""
    return "hold" if kind == "service" else "null"


def _command(table: TableReader) -> tuple[str, ...]:
    """The command, by way of a shell only if the file says so."""
    given = table.value("command")
    if table.flag("shell", default=False):
        if isinstance(given, str) and given.strip() and "\0" not in given:
            return ("/bin/sh", "-c", given)
        table.problem("command", "`command` must be a string where `shell` is true")
        return ()
    made = table.command("command")
    found = shell_syntax(made) if made and isinstance(given, str) else None
    if found:
        table.problem(
            "command",
            f"`{found}` in `command` means something to a shell only, and none is used; "
            "add `shell = true`, or write a list of words",
        )
    return made


def _preset(name: str, preset: str, table: TableReader) -> Service:
    """A service that Switchyard knows how to run: all but a few of its keys are given."""
    if preset != "postgres":
        table.problem("preset", f"unknown preset `{preset}`; known: `postgres`")
    check = ("psql", "-h", "{host}", "-p", "{port}", "-U", "postgres", "-d", "postgres", "-c", "")
    made = Service(
        name=name,
        command=(*_POSTGRES, "{host}", "{port}", "{data_dir}"),
        has_port=True,
        canonical_port=table.number("port", 0, 0, HIGHEST_PORT) or None,
        protocol="tcp",
        scope=cast("Any", table.choice("scope", ("branch", "project"), "branch")),
        ready=Check("command", command=check),
        stop=Stop(2, 20.0),
        stdin="null",
    )
    table.done()
    return made


def read_service(name: str, table: TableReader) -> Service:
    """One service, with every mistake noted."""
    preset = table.maybe_text("preset")
    if preset is not None:
        return _preset(name, preset, table)
    has_port = "port" in table
    port = table.number("port", 0, 0, HIGHEST_PORT)
    kind = table.choice("kind", ("service", "task"), "service")
    usual = "http" if has_port else "tcp"
    cwd = table.text("cwd", ".")
    if cwd != ".":
        inside(table, "cwd", cwd)
    health = table.value("health")
    ready = _check(table.table("ready"), has_port=has_port)
    if isinstance(health, str) and health.startswith("/") and "ready" not in table and has_port:
        ready = ready._replace(kind="http", path=health)
    live = _check(table.table("live"), has_port=has_port) if "live" in table else None
    table.value("live")
    errors = table.table("errors")
    match = patterns(errors, "match")
    ignore = patterns(errors, "ignore")
    errors.done()
    restart = _restart(table.table("restart")) if "restart" in table else Restart()
    table.value("restart")
    given_file = table.value("env_file")
    env_file = (given_file,) if isinstance(given_file, str) else table.texts("env_file")
    for one in env_file:
        inside(table, "env_file", one)
    made = Service(
        name=name,
        command=_command(table),
        cwd=cwd,
        env=table.strings("env"),
        env_file=env_file,
        host=loopback_host(table),
        has_port=has_port,
        canonical_port=port or None,
        bind_canonical=table.flag("bind_canonical", default=False),
        protocol=cast("Any", table.choice("protocol", ("http", "tcp"), usual)),
        kind=cast("Any", kind),
        scope=cast("Any", table.choice("scope", ("branch", "project"), "branch")),
        depends_on=_depends(table),
        ready=ready,
        live=live,
        restart=restart,
        stop=_stop(table.table("stop")),
        errors_match=match,
        errors_ignore=ignore,
        stdin=cast("Any", table.choice("stdin", ("hold", "null"), _usual_stdin(kind))),
        watch=_watch(table),
        tty=table.flag("tty", default=False),
    )
    if made.tty and "stdin" in table:
        table.problem("stdin", "a service with `tty = true` has its terminal as input")
    table.done()
    return made
