"""The running yard of one project: the state that the supervisor's operations share."""

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from switchkit.processes import environment
from switchyard.certificates.authority import CertificateAuthority, check_local
from switchyard.config.shapes import Config
from switchyard.control.protocol import Event
from switchyard.core.environ import base_environment
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_of
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.project.scope import SHARED_BRANCH, SHARED_SLUG, ProjectScope, Target
from switchyard.runtime.family import RUN_VARIABLE
from switchyard.runtime.launch import Planner, ServiceLaunch
from switchyard.runtime.observed import Observer, direct_url
from switchyard.runtime.ports import PortTable
from switchyard.runtime.runs import RunBook, RunRecord, all_runs
from switchyard.runtime.service_row import ServiceRow
from switchyard.supervisor.children import Children
from switchyard.supervisor.forwarding.forwarders import Forwarders
from switchyard.supervisor.forwarding.names import foreign_names, names_of_projects, names_router
from switchyard.supervisor.forwarding.sockets import loopback_sockets
from switchyard.supervisor.forwarding.tcp_relay import TcpRelay
from switchyard.supervisor.service.service_context import ServiceContext
from switchyard.supervisor.service.service_thread import ServiceThread
from switchyard.supervisor.watcher import Watcher

if TYPE_CHECKING:
    # Loaded only where somebody asked for certificates.
    from switchyard.supervisor.forwarding.tls_gate import TlsGate

Emit = Callable[[Event], None]


class Yard:
    """The service threads, forwarders and names of one project.

    Locks: whoever starts or stops services of a branch holds that branch (`holding`) to the end,
    hooks included; a branch that is slow to stop keeps no other waiting. `lock` is held for moments
    by whoever changes the open forwarders or the served names. Under a branch `lock` may be taken,
    under both `context.changed`, never the other way round. The main thread and the service threads
    take neither; `threads` is read through copies, which the interpreter makes in one step.
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
        self.watcher = Watcher()
        self.lock = threading.RLock()
        self._branches: dict[str, threading.RLock] = {}
        self.names_problem: str | None = None
        self.names_port: int | None = None
        self.https_problem: str | None = None
        self._gate: TlsGate | None = None

    def is_idle(self) -> bool:
        """Whether nothing is left to look after."""
        threads = list(self.threads.values())
        return (
            not self.forwarders.all()
            and all(one.has_ended for one in threads)
            and not any(self._awaits_change(one) for one in threads)
        )

    def _awaits_change(self, thread: ServiceThread) -> bool:
        """Whether an ended service starts again as soon as somebody mends a file of it."""
        ended = thread.launch.service.watch and thread.phase in ("crashed", "exited", "failed")
        return bool(ended) and self.book.get(*thread.launch.key) is not None

    @contextlib.contextmanager
    def holding(self, slugs: Iterable[str]) -> Generator[None]:
        """Have these branches alone. Always in one order, so that no two wait for each other."""
        with contextlib.ExitStack() as held:
            for one in sorted(set(slugs)):
                held.enter_context(self._branches.setdefault(one, threading.RLock()))
            yield

    def save_again(self) -> bool:
        """Write what a full disk kept from being written; whether nothing is left."""
        written = [one.save_again() for one in list(self.threads.values())]
        return self.forwarders.save_again() and all(written)

    @property
    def is_saved(self) -> bool:
        """Whether everything that is known is on disk."""
        return self.forwarders.is_saved and all(one.is_saved for one in list(self.threads.values()))

    def adopt(self) -> None:
        """Take over what an earlier supervisor left running. Runs before any request."""
        observer = Observer()
        try:
            config = config_of(self.scope)
        except YardFault:
            return
        self.places.mark_known()
        # Where something ran before, a record may have been deleted.
        ran = (self.places.folder / "logs").is_dir()
        runs = [
            run
            for run in (all_runs(self.scope.root, self.places, sweeps=True) if ran else ())
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
        """The launch of a run, read back from its process: secrets are never on disk.

        A program that has written over its variables gets what it would be started with now.
        """
        service = config.services[run.service]
        target = Target(run.branch, run.branch_slug, Path(run.worktree))
        ports = self.known_ports(config, target)
        named = self.names_problem is None
        planned: ServiceLaunch | None = None
        with contextlib.suppress(YardFault):
            planner = Planner(
                config,
                target,
                self.places,
                ports,
                caller=os.environ,
                named=named,
                resolves=run.names_resolve,
            )
            planned = planner.launch(run.service)
        env: Mapping[str, str] = environment(run.pid)
        if RUN_VARIABLE not in env:
            env = planned.env if planned else base_environment(os.environ)
        return ServiceLaunch(
            service=service,
            target=target,
            command=run.command or (planned.command if planned else service.command),
            probe_command=planned.probe_command if planned else (),
            stop_command=run.stop_command,
            cwd=Path(run.worktree) / service.cwd,
            env=env,
            port=run.port,
            url=run.url,
            log=Path(run.log),
            data=None,
            root=Path(run.root),
            profile=run.profile,
            definition=run.definition,
            sources=run.sources,
            source_stamps=run.source_stamps,
            names_resolve=run.names_resolve,
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
        with self.lock:
            if self.names_port is None:
                self._serve_names(config)
            if self.names_port is not None and not (self._gate and self._gate.is_current()):
                self._serve_https(config, self.names_port)

    def _serve_https(self, config: Config, names_port: int) -> None:
        """Serve the names over TLS too, if this user has an authority for certificates."""
        self._gate = None
        if not (self.scope.home.certificates / "authority.pem").is_file():
            return
        # `ssl` is large, and few ask for it.
        from switchyard.supervisor.forwarding.tls_gate import NameRules, TlsGate  # noqa: PLC0415

        authority = CertificateAuthority(
            self.scope.home.certificates, base_environment(os.environ), self.children.run
        )
        tld = config.proxy.tld
        try:
            check_local(tld)
            sockets = loopback_sockets(config.proxy.https_port, ("v4", "v6"), shared=True)
            rules = NameRules(tld, names_of_projects(self.scope.home, tld))
            self._gate = TlsGate(sockets, authority, rules, names_port)
        except (YardFault, OSError) as wrong:
            told = wrong.message if isinstance(wrong, YardFault) else str(wrong)
            self.https_problem = f"names are not served over HTTPS: {told}"
            return
        self.https_problem = None

    def _serve_names(self, config: Config) -> None:
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
            # Its thread knows better than a record that a full disk kept from being written.
            if run and thread and thread.run and thread.run.run_id == run.run_id:
                run = thread.run
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
