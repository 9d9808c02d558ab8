"""The running yard of one project: the state that the supervisor's operations share."""

import contextlib
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from switchkit.processes import environment
from switchyard.config.shapes import Config
from switchyard.control.protocol import Event
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_of
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, ProjectScope, Target
from switchyard.runtime.launch import Planner, ServiceLaunch
from switchyard.runtime.observed import Observer, direct_url
from switchyard.runtime.ports import PortTable
from switchyard.runtime.runs import RunBook, RunRecord, all_runs
from switchyard.runtime.service_row import ServiceRow
from switchyard.supervisor.children import Children
from switchyard.supervisor.forwarding.forwarders import Forwarders
from switchyard.supervisor.forwarding.names import foreign_names, names_router
from switchyard.supervisor.forwarding.sockets import loopback_sockets
from switchyard.supervisor.forwarding.tcp_relay import TcpRelay
from switchyard.supervisor.service_thread import ServiceContext, ServiceThread

Emit = Callable[[Event], None]


class Yard:
    """The service threads, forwarders and names of one project.

    Locks: `lock` is held by the request thread that changes `threads`, the open forwarders or the
    served names, so one change follows the other. Under it `context.changed` may be taken, never
    the other way round. The main thread and the service threads never take `lock`; they read
    `threads` through copies, which the interpreter makes in one step.
    """

    def __init__(self, root: Path, home: Home) -> None:
        registry = Registry(home)
        self.scope = ProjectScope(home, registry, root, None)
        self.places = self.scope.places
        self.children = Children()
        self.book = RunBook(self.places)
        self.context = ServiceContext(self.children, self.book)
        self.relay = TcpRelay()
        self.forwarders = Forwarders(self.relay, self.places)
        self.threads: dict[tuple[str, str], ServiceThread] = {}
        self.lock = threading.RLock()
        self.names_problem: str | None = None
        self.names_port: int | None = None

    def is_idle(self) -> bool:
        """Whether nothing is left to look after."""
        threads = list(self.threads.values())
        return not self.forwarders.all() and all(one.has_ended for one in threads)

    def adopt(self) -> None:
        """Take over what an earlier supervisor left running. Runs before any request."""
        observer = Observer()
        try:
            config = config_of(self.scope)
        except YardFault:
            return
        self.places.mark_known()
        runs = [
            run
            for run in all_runs(self.scope.root, self.places)
            if run.service in config.services and observer.observe(run).status == "running"
        ]
        if any(run.protocol == "http" for run in runs):
            self.serve_names(config)
        for found in runs:
            run = found
            if self.names_problem and run.protocol == "http":
                run = run._replace(url=direct_url(run))
            launch = self._launch_of(run, config)
            thread = ServiceThread(launch, self.context, adopted=run)
            self.threads[launch.key] = thread
            with contextlib.suppress(OSError):
                self.book.put(run)
            thread.start()
        self.forwarders.restore(config.families, self.threads)

    def _launch_of(self, run: RunRecord, config: Config) -> ServiceLaunch:
        """The launch of a run, read back from its process: secrets are never on disk."""
        service = config.services[run.service]
        env = environment(run.pid)
        target = Target(run.branch, run.branch_slug, Path(run.worktree))
        planner = Planner(config, target, self.places, self.known_ports(config, target))
        probe = ()
        with contextlib.suppress(YardFault):
            probe = planner.launch(run.service).probe_command
        return ServiceLaunch(
            service=service,
            target=target,
            command=run.command,
            probe_command=probe,
            stop_command=run.stop_command,
            cwd=Path(run.worktree) / service.cwd,
            env=env,
            port=run.port,
            url=run.url,
            log=Path(run.log),
            data=None,
            root=Path(run.root),
            profile=run.profile,
        )

    def is_watched(self, key: tuple[str, str]) -> bool:
        """Whether a thread looks after this service now."""
        thread = self.threads.get(key)
        return bool(thread and thread.is_alive)

    def known_ports(self, config: Config, target: Target) -> dict[tuple[str, str], int]:
        """The ports that are reserved, without reserving any."""
        table = PortTable(self.scope.home)
        made = {(target.slug, k): p for k, p in table.lookup(config.root, target.branch).items()}
        shared = table.lookup(config.root, SHARED_BRANCH)
        return made | {(SHARED_SLUG, name): port for name, port in shared.items()}

    def serve_names(self, config: Config) -> None:
        """Serve the names of this home, unless another process holds the port."""
        if self.names_port is not None:
            return
        port = config.proxy.port
        other = foreign_names(port, self.scope.home)
        try:
            if other:
                raise YardFault("port-taken", f"port {port} serves the names of {other}")
            sockets = loopback_sockets(port, ("v4", "v6"), shared=True)
        except YardFault as wrong:
            self.names_problem = f"names are not served: {wrong.message}"
            return
        router = names_router(self.scope.home, config.proxy.tld)
        self.relay.listen(port, sockets, router, sniffs=True)
        self.names_port, self.names_problem = port, None

    def rows(self, keys: Iterable[tuple[str, str]]) -> list[ServiceRow]:
        """The state of these services now."""
        observer = Observer()
        made: list[ServiceRow] = []
        for key in keys:
            thread = self.threads.get(key)
            run = self.book.get(*key)
            if run:
                made.append(observer.observe(run).as_json())
            elif thread:
                made.append(
                    {
                        "service": key[1],
                        "status": "stale",
                        "phase": thread.phase,
                        "reason": thread.reason,
                    }
                )
        return made

    def config_or_none(self) -> Config | None:
        """The configuration, when there is a valid one."""
        with contextlib.suppress(YardFault):
            return config_of(self.scope)
        return None
