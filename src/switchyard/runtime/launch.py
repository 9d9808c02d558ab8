"""Everything needed to start one service of one branch: command, folder, variables, port."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from switchyard.config.placeholders import fill, used
from switchyard.config.shapes import Config, Service, ServiceProfile
from switchyard.core.environ import base_environment, on_path
from switchyard.core.fault import USAGE, YardFault
from switchyard.core.slugs import slug, variable
from switchyard.project.home import ProjectPlaces
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, Target
from switchyard.runtime.definition import definition_of, sources_of, stamps_of
from switchyard.runtime.dotenv import read_env_file
from switchyard.runtime.resource_records import resource_records


class ServiceLaunch(NamedTuple):
    """One service, ready to be started."""

    service: Service
    target: Target
    command: tuple[str, ...]
    probe_command: tuple[str, ...]
    stop_command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    port: int | None
    url: str | None
    log: Path
    data: Path | None
    root: Path
    profile: str | None
    definition: str = ""
    sources: tuple[str, ...] = ()
    source_stamps: tuple[int, ...] = ()
    names_resolve: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """The key under which the supervisor keeps it."""
        return self.target.slug, self.service.name


def target_of(service: Service, target: Target, root: Path) -> Target:
    """The branch, or the place shared by all branches."""
    return Target(SHARED_BRANCH, SHARED_SLUG, root) if service.scope == "project" else target


def service_url(
    config: Config, service: Service, target: Target, port: int | None, *, named: bool
) -> str | None:
    """The stable name of the service; its plain address when names are not served."""
    if port is None:
        return None
    host = f"[{service.host}]" if ":" in service.host else service.host
    if service.protocol != "http":
        return f"{host}:{port}"
    if not named:
        return f"http://{host}:{port}"
    labels = (slug(service.name), target.slug.lstrip("_"), config.slug, config.proxy.tld)
    return f"http://{'.'.join(labels)}:{config.proxy.port}"


class Planner:
    """Fills in the services of one branch from the configuration and the reserved ports."""

    def __init__(
        self,
        config: Config,
        target: Target,
        places: ProjectPlaces,
        ports: Mapping[tuple[str, str], int],
        *,
        profile: ServiceProfile | None = None,
        caller: Mapping[str, str] | None = None,
        named: bool = True,
        resolves: bool = True,
    ) -> None:
        self._config = config
        self._target = target
        self._places = places
        self._ports = ports
        self._profile = profile
        self._caller: Mapping[str, str] = caller or {}
        self._named = named
        self._resolves = resolves
        known = config.resources
        self._records = (
            [one for one in resource_records(places, target.slug) if one.resource in known]
            if known
            else []
        )
        # What is worth telling of the launches made so far.
        self.warnings: list[str] = []
        every = config.services.values()
        self._addresses = {one.name: (self.port(one), self._url_of(one)) for one in every}

    def port(self, service: Service) -> int | None:
        """The port the service is to bind."""
        if service.bind_canonical and service.canonical_port:
            return service.canonical_port
        key = target_of(service, self._target, self._config.root).slug, service.name
        return self._ports.get(key)

    def _url_of(self, service: Service) -> str | None:
        target = target_of(service, self._target, self._config.root)
        port = self.port(service)
        return service_url(self._config, service, target, port, named=self._named)

    def _url_for_peers(self, service: Service) -> str | None:
        """An address that other services can use: its name only if programs can resolve it."""
        target = target_of(service, self._target, self._config.root)
        named = self._named and self._resolves
        return service_url(self._config, service, target, self.port(service), named=named)

    def _values(self, service: Service) -> dict[str, str]:
        target = target_of(service, self._target, self._config.root)
        port, url = self._addresses[service.name]
        values = {
            "port": str(port or ""),
            "host": service.host,
            "url": url or "",
            "service": service.name,
            "branch": target.branch,
            "branch_slug": target.slug,
            "branch_db": target.slug.replace("-", "_").strip("_"),
            "project": self._config.name,
            "project_slug": self._config.slug,
            "root": str(self._config.root),
            "worktree": str(target.worktree),
            "data_dir": str(self._places.data(target.slug, service.name)),
        }
        for peer in self._config.services.values():
            name, (port, _) = variable(peer.name), self._addresses[peer.name]
            url = self._url_for_peers(peer)
            values[f"{name}_port"] = str(port or "")
            values[f"{name}_host"] = peer.host
            values[f"{name}_url"] = url or ""
        if target.slug != SHARED_SLUG:
            for record in self._records:
                values[f"{variable(record.resource)}_url"] = record.address
        if self._profile:
            for key, text in self._profile.env.items():
                values.setdefault(key.lower(), fill(text, values))
        return values

    def _environment(self, service: Service, values: Mapping[str, str]) -> dict[str, str]:
        target = target_of(service, self._target, self._config.root)
        port, _ = self._addresses[service.name]
        env = base_environment(self._caller)
        for name in service.env_file:
            found = read_env_file(target.worktree / name, env)
            if found is None:
                self.warnings.append(f"`{service.name}` has no `{name}` in {target.worktree}")
            env |= found or {}
        if target.slug != SHARED_SLUG:
            for record in self._records:
                env |= record.variables()
        env |= {key: fill(text, values) for key, text in service.env.items()}
        if self._profile:
            env |= {key: fill(text, values) for key, text in self._profile.env.items()}
        env |= {
            "HOST": service.host,
            "SWITCHYARD": "1",
            "SWITCHYARD_HOME": str(self._places.home),
            "SWITCHYARD_PROJECT": self._config.name,
            "SWITCHYARD_PROJECT_SLUG": self._config.slug,
            "SWITCHYARD_BRANCH": target.branch,
            "SWITCHYARD_BRANCH_SLUG": target.slug,
            "SWITCHYARD_SERVICE": service.name,
            "SWITCHYARD_ROOT": str(self._config.root),
            "SWITCHYARD_WORKTREE": str(target.worktree),
        }
        if port is not None:
            env |= {"PORT": str(port), "SWITCHYARD_PORT": str(port)}
            env["SWITCHYARD_URL"] = values["url"]
        if service.canonical_port:
            env["CANONICAL_PORT"] = str(service.canonical_port)
        for peer in self._config.services.values():
            port, _ = self._addresses[peer.name]
            url = self._url_for_peers(peer)
            if port is not None:
                name = f"SWITCHYARD_{variable(peer.name).upper()}"
                env[f"{name}_PORT"] = str(port)
                env[f"{name}_URL"] = url or ""
        return env

    def _data(self, service: Service, target: Target) -> Path | None:
        texts = (*service.command, *service.env.values())
        wanted = any("data_dir" in used(text) for text in texts)
        return self._places.data(target.slug, service.name) if wanted else None

    def launch(self, name: str) -> ServiceLaunch:
        """The service of this name with everything filled in.

        Raises `YardFault` when its folder is missing or a placeholder has no value here.
        """
        service = self._config.services[name]
        target = target_of(service, self._target, self._config.root)
        values = self._values(service)
        for text in service.command:
            for one in used(text):
                if one not in values:
                    raise YardFault(
                        "no-value",
                        f"`{{{one}}}` in `services.{name}.command` has no value in this profile",
                        exit_code=USAGE,
                    )
        # Before the files are read: one that is written meanwhile counts as changed.
        sources = sources_of(self._config, service, target.worktree)
        stamps = stamps_of(sources)
        env = self._environment(service, values)
        cwd = target.worktree / service.cwd
        if not cwd.is_dir():
            raise YardFault("no-folder", f"the folder of `{name}` is gone: {cwd}")
        command = tuple(fill(text, values) for text in service.command)
        port, url = self._addresses[name]
        return ServiceLaunch(
            service=service,
            target=target,
            command=_found(command, env, cwd),
            probe_command=tuple(fill(text, values) for text in service.ready.command),
            stop_command=tuple(fill(text, values) for text in service.stop.command),
            cwd=cwd,
            env=env,
            port=port,
            url=url,
            log=self._places.log(target.slug, name),
            data=self._data(service, target),
            root=self._config.root,
            profile=self._profile.name if self._profile else None,
            definition=definition_of(service, self._profile, target.worktree),
            sources=sources,
            source_stamps=stamps,
            names_resolve=self._resolves,
        )


def _found(command: tuple[str, ...], env: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    """The command with its program resolved in the variables it will run with."""
    program = command[0]
    if os.sep in program:
        return (str(cwd / program), *command[1:])
    path = on_path(program, env.get("PATH", os.defpath))
    if path is None and program in ("python", "python3"):
        path = sys.executable
    return (path or program, *command[1:])
