"""The values of a read `switchyard.toml`. Frozen; no reading, no defaults from elsewhere."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

Condition = Literal["started", "ready", "completed"]
CheckKind = Literal["tcp", "http", "log", "command", "delay", "alive"]


class Check(NamedTuple):
    """One way to learn that a service is ready, or still alive."""

    kind: CheckKind
    path: str = "/"
    statuses: tuple[str, ...] = ("2xx", "3xx")
    pattern: str = ""
    command: tuple[str, ...] = ()
    delay_s: float = 0.3
    timeout_s: float = 60.0
    interval_s: float = 10.0
    failures: int = 3


class Restart(NamedTuple):
    """What happens after a service ends by itself."""

    policy: Literal["no", "on-failure", "always"] = "no"
    max: int = 5
    first_s: float = 0.5
    last_s: float = 30.0
    reset_after_s: float = 60.0


class Stop(NamedTuple):
    """How a service is asked to end."""

    signal: int = 15
    grace_s: float = 10.0
    command: tuple[str, ...] = ()


class Service(NamedTuple):
    """One service or task as configured; placeholders are not yet filled."""

    name: str
    command: tuple[str, ...]
    cwd: str = "."
    env: Mapping[str, str] = MappingProxyType({})
    env_file: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    has_port: bool = False
    canonical_port: int | None = None
    bind_canonical: bool = False
    protocol: Literal["http", "tcp"] = "http"
    kind: Literal["service", "task"] = "service"
    scope: Literal["branch", "project"] = "branch"
    depends_on: Mapping[str, Condition] = MappingProxyType({})
    ready: Check = Check("alive")
    live: Check | None = None
    restart: Restart = Restart()
    stop: Stop = Stop()
    errors_match: tuple[str, ...] = ()
    errors_ignore: tuple[str, ...] = ()
    stdin: Literal["hold", "null"] = "hold"
    watch: tuple[str, ...] = ()
    tty: bool = False


class Resource(NamedTuple):
    """Something that each branch has of its own, such as a database, as configured."""

    name: str
    kind: Literal["postgres", "mysql", "redis", "sqlite", "compose", "command"]
    env: str
    server: str = ""
    source: str = ""
    """What it is made from: `template:NAME`, or `file:PATH` below the root."""
    file: str = ""
    publish: str = ""
    url: str = ""
    create: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @property
    def service(self) -> str | None:
        """The service of this project that is its server, if one is."""
        return self.server.removeprefix("service:") if self.server.startswith("service:") else None


class ServiceProfile(NamedTuple):
    """A named choice of services with variables of its own."""

    name: str
    services: tuple[str, ...]
    env: Mapping[str, str] = MappingProxyType({})
    skip_depends: tuple[str, ...] = ()


class Hooks(NamedTuple):
    """Commands that run at stages in the life of a worktree and its services."""

    post_create: tuple[tuple[str, ...], ...] = ()
    pre_up: tuple[tuple[str, ...], ...] = ()
    post_ready: tuple[tuple[str, ...], ...] = ()
    pre_down: tuple[tuple[str, ...], ...] = ()
    pre_remove: tuple[tuple[str, ...], ...] = ()


class EnvSync(NamedTuple):
    """Which files a worktree gets from the project, and what services inherit."""

    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    worktreeinclude: bool = True
    inherit: Literal["caller", "login"] = "caller"


class Clone(NamedTuple):
    """Large ignored folders that a worktree gets as clones."""

    paths: tuple[str, ...] = ()
    mode: Literal["auto", "reflink", "hardlink", "copy", "off"] = "auto"


class Proxy(NamedTuple):
    """Where the names `*.localhost` are served."""

    host: str = "127.0.0.1"
    port: int = 7331
    tld: str = "localhost"
    https_port: int = 7443


class Ports(NamedTuple):
    """The range that services get their ports from, outside every ephemeral range."""

    start: int = 20000
    end: int = 24999
    sticky: bool = True


class Logs(NamedTuple):
    """How much of a log is kept, and what is never shown."""

    max_bytes: int = 10_000_000
    keep: int = 3
    redact: tuple[str, ...] = ()


class Config(NamedTuple):
    """One project as its `switchyard.toml` describes it."""

    root: Path
    path: Path
    name: str
    slug: str
    worktree_root: str | None
    base: str
    default_profile: str | None
    source: Literal["root", "worktree"]
    env: EnvSync
    clone: Clone
    proxy: Proxy
    ports: Ports
    families: tuple[str, ...]
    services: dict[str, Service]
    profiles: dict[str, ServiceProfile]
    hooks: Hooks
    logs: Logs
    resources: Mapping[str, Resource] = MappingProxyType({})
