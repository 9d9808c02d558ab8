"""Files in which a project already lists what runs: Procfiles, process-compose, compose."""

import re
from pathlib import Path
from typing import Any, cast

from switchyard.project.detection.drafts import (
    DetectedPart,
    Draft,
    plain,
    quoted,
    service_name,
    table,
)
from switchyard.project.detection.plain_yaml import NotPlainYaml, read_plain_yaml

_PROCFILES = ("Procfile.dev", "Procfile")
_PROCESS_COMPOSE = ("process-compose.yaml", "process-compose.yml")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_NOT_HTTP = (
    "redis-server",
    "valkey-server",
    "memcached",
    "postgres",
    "mysqld",
    "mariadbd",
    "mongod",
)
_CONDITIONS = {
    "process_started": "started",
    "process_healthy": "ready",
    "process_log_ready": "ready",
    "process_completed": "completed",
    "process_completed_successfully": "completed",
}


def procfile(folder: Path) -> DetectedPart | None:
    """The lines of a Procfile, as they are."""
    name = next((one for one in _PROCFILES if (folder / one).is_file()), None)
    if name is None:
        return None
    text = (folder / name).read_text(encoding="utf-8", errors="replace")
    made: list[Draft] = []
    for match in re.finditer(r"^([A-Za-z0-9_-]+):[ \t]*+(\S.*)$", text, re.MULTILINE):
        service, line = match[1], match[2].strip()
        if service == "release":
            continue  # a step of a deployment, which nothing here is
        command, wants_port = _with_port(line)
        wants_port = wants_port or _reads_port(folder, line)
        port = (3000 if service == "web" else 0) if wants_port else None
        speaks = line.split()[0].rpartition("/")[2]
        protocol = (("protocol", quoted("tcp")),) if wants_port and speaks in _NOT_HTTP else ()
        made.append(Draft(service, command, port, options=protocol))
    return DetectedPart(name, tuple(made)) if made else None


def _reads_port(folder: Path, line: str) -> bool:
    """Whether a file of the project that the line names asks for the port it is given."""
    for word in line.split():
        path = folder / word
        if re.fullmatch(r"[\w./-]+\.(?:py|rb|sh|[cm]?[jt]s)", word) and ".." not in word:
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if re.search(r"""["']PORT["']|env\.PORT\b|\$\{?PORT\b""", text):
                return True
    return False


def _with_port(line: str) -> tuple[str, bool]:
    """The line with the placeholder for its port, and whether it has one."""
    made = re.sub(r"\$\{\{PORT(?::?-\d+)?\}\}|\$PORT\b", "{port}", plain(line))
    return made, "{port}" in made


def process_compose(folder: Path) -> DetectedPart | None:
    """The processes of a process-compose file."""
    name = next((one for one in _PROCESS_COMPOSE if (folder / one).is_file()), None)
    if name is None:
        return None
    try:
        processes = table(table(read_plain_yaml(folder / name)).get("processes"))
    except NotPlainYaml as wrong:
        return DetectedPart(name, (), (f"it was left out: {wrong}",))
    kept = {one: table(it) for one, it in processes.items() if not table(it).get("disabled")}
    names = {one: service_name(one) for one, it in kept.items() if it.get("command")}
    notes = [f"`{one}` of {name} has no command" for one in kept if one not in names]
    made = _with_tasks([_process(one, kept[one], names) for one in names])
    return DetectedPart(name, tuple(made), tuple(notes))


def _with_tasks(drafts: list[Draft]) -> list[Draft]:
    """What another waits for until it is done is a task."""
    awaited = {name for one in drafts for name, how in one.depends_on.items() if how == "completed"}
    task = ("kind", quoted("task"))
    return [
        one._replace(options=(task, *one.options)) if one.name in awaited else one for one in drafts
    ]


def _process(name: str, its: dict[str, Any], names: dict[str, str]) -> Draft:
    command, wants_port = _with_port(str(its["command"]).strip())
    options: list[tuple[str, str]] = []
    probe = table(its.get("readiness_probe"))
    http, probed = table(probe.get("http_get")), table(probe.get("exec"))
    port: int | None = 0 if wants_port else None
    number = str(http.get("port") or "")
    if number.isdigit():
        port = int(number)
        fixed = rf"(?<!\d){number}(?!\d)"
        if re.search(fixed, command):
            command = re.sub(fixed, "{port}", command)
        elif not wants_port:
            # It opens this port whatever it is told, so one branch at a time has it.
            options.append(("bind_canonical", "true"))
    if http and port is not None:
        options.append(("ready", f"{{ http = {quoted(str(http.get('path') or '/'))} }}"))
    elif probed.get("command"):
        shell = f'["sh", "-c", {quoted(plain(str(probed["command"])))}]'
        options.append(("ready", f"{{ command = {shell} }}"))
    elif its.get("ready_log_line"):
        options.append(("ready", f"{{ log = {quoted(re.escape(str(its['ready_log_line'])))} }}"))
    depends = {
        names[peer]: _CONDITIONS.get(str(table(how).get("condition")), "started")
        for peer, how in table(its.get("depends_on")).items()
        if peer in names
    }
    policy = str(table(its.get("availability")).get("restart") or "no")
    if policy in ("always", "on_failure"):
        options.append(("restart", f"{{ policy = {quoted(policy.replace('_', '-'))} }}"))
    return Draft(
        names[name],
        command,
        port,
        str(its.get("working_dir") or ".").removeprefix("./") or ".",
        _variables(its.get("environment")),
        depends,
        tuple(options),
    )


def _variables(given: Any) -> dict[str, str]:
    if isinstance(given, dict):
        return {key: plain(str(value)) for key, value in table(given).items() if value is not None}
    lines = cast("list[Any]", given) if isinstance(given, list) else []
    pairs = [str(one).partition("=") for one in lines]
    return {key: plain(value) for key, found, value in pairs if found}


def compose(folder: Path) -> DetectedPart | None:
    """The containers of a compose file: one set for all branches, because their ports are fixed."""
    name = next((one for one in _COMPOSE if (folder / one).is_file()), None)
    if name is None:
        return None
    try:
        services = table(table(read_plain_yaml(folder / name)).get("services"))
    except NotPlainYaml as wrong:
        return DetectedPart(name, (), (f"it was left out: {wrong}",))
    made = [_container(name, one, services) for one in services if not _profiled(services[one])]
    notes = ("containers are shared by all branches",) if made else ()
    return DetectedPart(name, tuple(made), notes)


def _profiled(service: Any) -> bool:
    return bool(table(service).get("profiles"))


def _container(file: str, name: str, services: dict[str, Any]) -> Draft:
    """A container whose output is its log; it is ready once something can run in it."""
    command = f"docker compose -f {file} up --no-deps --no-log-prefix {name}"
    check = ["docker", "compose", "-f", file, "exec", "-T", name, "true"]
    given: Any = table(services[name]).get("depends_on") or []
    peers = [str(one) for one in given if one in services and not _profiled(services[one])]
    return Draft(
        service_name(name),
        command,
        depends_on=dict.fromkeys(map(service_name, peers), "ready"),
        options=(
            ("scope", quoted("project")),
            ("ready", f"{{ command = [{', '.join(map(quoted, check))}] }}"),
        ),
    )
