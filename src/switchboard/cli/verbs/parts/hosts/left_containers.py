"""Containers of MCP servers that a host has left behind: they run on, and their client has ended.

A client (`docker run -i …`, `podman run -i …`) that is killed leaves its container running. One
counts as left behind when it runs what a server in a file of its user runs (image, command, input,
variables by name), was not started by us, and every living client of the same server began after
it: none of those can have started it. Engines elsewhere are not asked, for their clients may be
anywhere. A container is removed by its number, which no other ever has.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from shutil import which

import msgspec
from msgspec import Struct

from switchboard.children.starting.containers import container_run, options_of
from switchboard.hosts.leftovers import LaunchLine, pids_below
from switchboard.procs.trial import trial
from switchkit.containers import LABEL
from switchkit.platform.facts import age_s, command_words, resident_bytes
from switchkit.processes import ProcessTable

_ANSWER_S = 15.0
# Clocks of an engine and of its clients differ, on a machine where the engine has its own.
_MARGIN_S = 5.0
_HERE = ("unix://", "fd://", "npipe://")
_VARIABLES = ("-e", "--env")
_FIRST = 1


class LeftContainer(Struct, frozen=True, kw_only=True):
    """A container whose client has ended."""

    # The engine that has it, and its whole number there.
    engine: str
    id: str
    name: str
    host: str
    server: str
    command: tuple[str, ...]
    age_s: float
    memory: int
    # What it has of the machine: folders, and ports.
    holds: tuple[str, ...] = ()


class _Config(Struct, frozen=True, rename="pascal"):
    image: str = ""
    cmd: list[str] | None = None
    env: list[str] | None = None
    labels: dict[str, str] | None = None
    open_stdin: bool = False


class _HostConfig(Struct, frozen=True, rename="pascal"):
    auto_remove: bool = False


class _State(Struct, frozen=True, rename="pascal"):
    pid: int = 0


class _Mount(Struct, frozen=True, rename="pascal"):
    source: str = ""


class _Container(Struct, frozen=True, rename="pascal"):
    """What `inspect` of an engine says, as far as we read it."""

    id: str
    name: str = ""
    created: str = ""
    image: str = ""
    config: _Config = _Config()
    host_config: _HostConfig = _HostConfig()
    state: _State = _State()
    mounts: list[_Mount] = []


class _Client(Struct, frozen=True, kw_only=True):
    """What a command line has an engine run."""

    engine: str
    image: str
    words: tuple[str, ...]
    variables: frozenset[str]
    is_removed: bool


def left_containers(
    lines: Iterable[LaunchLine], environ: Mapping[str, str], ended: Iterable[int] = ()
) -> list[LeftContainer]:
    """What hosts have left behind in engines. `ended` are clients that nobody speaks to."""
    known = {
        client: line
        for line in lines
        if (client := _client((line.command, *line.args))) is not None
    }
    table = ProcessTable()
    if not known or _FIRST not in table.processes:
        # Where others are not shown, a client of theirs may live.
        return []
    living = [*_living_clients(table, {*ended})]
    found: list[LeftContainer] = []
    for engine in sorted({each.engine for each in known}):
        program = which(engine, path=environ.get("PATH"))
        if program is None or not _is_here(program, environ):
            continue
        for container in _running(program, environ):
            line = next(
                (
                    line
                    for client, line in known.items()
                    if client.engine == engine
                    and _runs(container, client)
                    and (client.words or _is_as_made(container, program, environ))
                ),
                None,
            )
            if line is not None and not _may_be_spoken_to(container, living):
                found.append(_left(container, line, program, table))
    return found


def remove(container: LeftContainer, environ: Mapping[str, str]) -> bool:
    """Have the engine remove a container. Says whether it is gone."""
    _ask(container.engine, environ, "rm", "-f", container.id)
    return not any(each.id == container.id for each in _running(container.engine, environ))


def _client(words: Sequence[str]) -> _Client | None:
    """What a client has started that is alone with its container, on an engine of this machine."""
    run = container_run(words) if words else None
    if run is None or len(run.engine) > 1 or "--detach" in run.options:
        return None
    options, inner = options_of(run.rest)
    names = {name for name, _ in options}
    if not inner or "--interactive" not in names:
        return None
    image, *rest = inner
    return _Client(
        engine=os.path.basename(words[0]),
        image=_image(image),
        words=tuple(rest),
        variables=frozenset(
            value.partition("=")[0] for name, value in options if name in _VARIABLES
        ),
        is_removed="--rm" in names,
    )


def _living_clients(table: ProcessTable, ended: set[int]) -> Iterator[tuple[_Client, float]]:
    """Every client that runs, whoever has started it, with its age."""
    for process in table.processes.values():
        if process.is_dead or process.pid in ended:
            continue
        words = command_words(process.pid)
        # It may be a script, or run by another program: `sudo docker run …`.
        for place in range(len(words)):
            if (client := _client(words[place:])) is not None:
                yield client, age_s(process.pid, process.began) or 0.0
                break


def _is_here(program: str, environ: Mapping[str, str]) -> bool:
    """Whether an engine runs on this machine."""
    if os.path.basename(program) == "podman":
        words = ("info", "--format", "{{.Host.ServiceIsRemote}}")
        return _ask(program, environ, *words).strip() == "false"
    where = environ.get("DOCKER_HOST") or _ask(
        program, environ, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"
    )
    return where.strip().startswith(_HERE)


def _running(program: str, environ: Mapping[str, str]) -> list[_Container]:
    """Everything that an engine knows of the containers that run."""
    ids = _ask(program, environ, "ps", "--quiet", "--no-trunc").split()
    if not ids:
        return []
    try:
        return msgspec.json.decode(_ask(program, environ, "inspect", *ids), type=list[_Container])
    except msgspec.MsgspecError:
        # One has gone meanwhile, or the engine does not answer.
        return []


def _ask(program: str, environ: Mapping[str, str], *words: str) -> str:
    try:
        said = trial((program, *words), timeout_s=_ANSWER_S, env=environ)
    except OSError:
        return ""
    return said.stdout if said.status == 0 else ""


def _runs(container: _Container, client: _Client) -> bool:
    """Whether a container is what this client would start."""
    config = container.config
    variables = {each.partition("=")[0] for each in config.env or ()}
    return (
        LABEL not in (config.labels or {})
        and config.open_stdin
        and _image(config.image) == client.image
        # Without words of its own a client runs what the image says.
        and (not client.words or [*client.words] == config.cmd)
        and client.variables <= variables
        and container.host_config.auto_remove == client.is_removed
    )


def _is_as_made(container: _Container, program: str, environ: Mapping[str, str]) -> bool:
    """Whether a container runs what its image says, as it does when nobody says otherwise."""
    words = ("image", "inspect", "--format", "{{json .Config.Cmd}}", container.image)
    said = _ask(program, environ, *words).strip()
    return bool(said) and msgspec.json.decode(said) == container.config.cmd


def _may_be_spoken_to(container: _Container, living: Iterable[tuple[_Client, float]]) -> bool:
    """Whether a client lives that may have started it, whichever of its names the engine has."""
    age = _age_s(container)
    return age is None or any(
        _runs(container, client) and client_age + _MARGIN_S > age for client, client_age in living
    )


def _age_s(container: _Container) -> float | None:
    try:
        made = datetime.fromisoformat(container.created)
    except ValueError:
        return None
    return (datetime.now(UTC) - made).total_seconds()


def _image(name: str) -> str:
    """An image by the name that every engine understands: Podman writes it in full."""
    for begins in ("docker.io/", "library/"):
        name = name.removeprefix(begins)
    return name.removesuffix(":latest")


def _left(
    container: _Container, line: LaunchLine, program: str, table: ProcessTable
) -> LeftContainer:
    first = container.state.pid
    # An engine in a machine of its own has other numbers, or none.
    everyone = [first, *pids_below(first, table)] if first in table.processes else []
    return LeftContainer(
        engine=program,
        id=container.id,
        name=container.name.lstrip("/"),
        host=line.host,
        server=line.server,
        command=(line.command, *line.args),
        age_s=_age_s(container) or 0.0,
        memory=sum(resident_bytes(pid) or 0 for pid in everyone),
        holds=tuple(each.source for each in container.mounts if each.source),
    )
