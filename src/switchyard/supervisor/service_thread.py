"""One thread per service: waits for its dependencies, starts it, watches it, ends it."""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from switchkit.exits import watch_exit
from switchkit.files import make_folder, make_private_folder, open_log
from switchkit.platform.light import wake_pipe
from switchkit.platform.system import vitals
from switchyard.config.shapes import Check
from switchyard.proc.family import RUN_VARIABLE, boot_id, leader_vitals, members
from switchyard.proc.stopping import Stopped, stop_family
from switchyard.runtime.launch import Launch
from switchyard.runtime.logs import add_mark, rotate
from switchyard.runtime.observed import Truth
from switchyard.runtime.runs import Run, RunBook
from switchyard.supervisor.children import Children
from switchyard.supervisor.probes import Subject, prober

FIRST_POLL_S = 0.002
LAST_POLL_S = 0.05
LATE_POLL_S = 1.0
STOP_SLACK_S = 12.0
SETTLED = ("ready", "completed", "crashed", "exited", "failed", "blocked", "stopped", "late")
BAD = ("crashed", "exited", "failed", "blocked", "late")


class Board:
    """What the keepers share: phases, and a bell that rings when one changes."""

    def __init__(self, children: Children, book: RunBook) -> None:
        self.children = children
        self.book = book
        self.changed = threading.Condition()
        self.max_log_bytes = 10_000_000
        self.keep_logs = 3

    def ring(self) -> None:
        """Wake everybody who waits for a change."""
        with self.changed:
            self.changed.notify_all()


class Keeper:
    """The life of one service of one branch, from wanted to stopped."""

    def __init__(
        self,
        launch: Launch,
        board: Board,
        *,
        waits_for: Callable[[], str | None] | None = None,
        adopted: Run | None = None,
    ) -> None:
        self.launch = launch
        self.phase = "waiting" if adopted is None else adopted.phase
        self.run: Run | None = adopted
        self.reason: str | None = None
        self.outcome: Stopped | None = None
        self._board = board
        self._waits_for = waits_for or (lambda: "")
        self._adopted = adopted
        self._stopping = False
        self._unwell = False
        self._wake_read, self._wake_write = wake_pipe()
        self._thread = threading.Thread(target=self._live, name=launch.service.name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether this keeper still looks after its service."""
        return self._thread.is_alive() and not self._stopping

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen here."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ask for the end; `join` to see it."""
        with self._board.changed:
            self._stopping = True
            with contextlib.suppress(OSError):
                os.write(self._wake_write, b"x")
            self._board.changed.notify_all()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _settle(self, phase: str, reason: str | None = None) -> None:
        with self._board.changed:
            self.phase, self.reason = phase, reason
            self._board.changed.notify_all()

    def _note(self, run: Run, phase: str, reason: str | None = None) -> Run:
        """Write the record first, then let it be known."""
        run = run._replace(phase=phase, reason=reason)
        with contextlib.suppress(OSError):
            self._board.book.put(run)
        self.run = run
        self._settle(phase, reason)
        return run

    def _live(self) -> None:
        try:
            if self._adopted is None and not self._await_peers():
                return
            self._runs()
        finally:
            with self._board.changed:
                for descriptor in (self._wake_read, self._wake_write):
                    os.close(descriptor)
                self._wake_write = -1
                if self.phase not in SETTLED:
                    # Only a fault of ours leads here; whoever waits must not wait for ever.
                    self.phase, self.reason = "failed", "keeper-ended"
                self._board.changed.notify_all()

    def _await_peers(self) -> bool:
        with self._board.changed:
            while not self._stopping:
                reason = self._waits_for()
                if reason == "":
                    return True
                if reason is not None:
                    self.phase, self.reason = "blocked", reason
                    self._board.changed.notify_all()
                    return False
                self._board.changed.wait()
            self.phase = "stopped"
            self._board.changed.notify_all()
            return False

    def _runs(self) -> None:
        rule, restarts = self.launch.service.restart, 0
        run, self._adopted = self._adopted, None
        while True:
            run = run or self._spawn(restarts)
            if run is None:
                return
            began = time.monotonic()
            run = self._watch(run)
            if self._stopping:
                self._end(run)
                return
            wanted = rule.policy == "always" or (rule.policy == "on-failure" and run.exit_code != 0)
            if self.launch.service.kind == "task" and run.exit_code == 0:
                wanted = False
            if time.monotonic() - began >= rule.reset_after_s:
                restarts = 0
            wanted = wanted or (self._unwell and rule.policy != "no")
            self._unwell = False
            if not wanted or restarts >= rule.max:
                return
            self._settle("restarting", run.reason)
            pause_s = min(rule.last_s, rule.first_s * 2**restarts)
            restarts += 1
            if self._sleep(pause_s):
                self._end(run)
                return
            stop_family(run.leader, number=signal.SIGTERM, grace_s=1.0)
            run = None

    def _sleep(self, pause_s: float) -> bool:
        """Wait; true when the end was asked for meanwhile."""
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        poller.poll(pause_s * 1000)
        return self._stopping

    def _spawn(self, restarts: int) -> Run | None:
        launch, service = self.launch, self.launch.service
        run_id = os.urandom(8).hex()
        run = Run(
            run_id=run_id,
            service=service.name,
            branch=launch.target.branch,
            branch_slug=launch.target.slug,
            kind=service.kind,
            pid=0,
            ticks=0,
            boot_id=boot_id(),
            command=launch.command,
            root=str(launch.root),
            worktree=str(launch.target.worktree),
            host=service.host,
            port=launch.port,
            canonical_port=service.canonical_port,
            protocol=service.protocol,
            url=launch.url,
            log=str(launch.log),
            log_start=0,
            started_at=time.time(),
            profile=launch.profile,
            restarts=restarts,
            stop_signal=service.stop.signal,
            stop_grace_s=service.stop.grace_s,
            stop_command=launch.stop_command,
        )
        try:
            make_private_folder(launch.log.parent)
            if launch.data:
                make_folder(launch.data)
            rotate(launch.log, self._board.max_log_bytes, self._board.keep_logs)
            output = open_log(launch.log)
            try:
                run = run._replace(log_start=os.fstat(output).st_size)
                self._board.book.put(run)  # proves there is room for the record before the start
                env = {**launch.env, RUN_VARIABLE: run_id}
                pid = self._board.children.spawn(
                    launch.command, cwd=launch.cwd, env=env, output=output
                )
            finally:
                os.close(output)
        except OSError as wrong:
            told = f"{wrong.strerror or wrong}: {wrong.filename or launch.command[0]}"
            self._note(run, "failed", told)
            return None
        found = vitals(pid)
        run = run._replace(pid=pid, ticks=found.began if found else 0)
        add_mark(launch.log)
        return self._note(run, "starting")

    def _subject(self, run: Run) -> Subject:
        launch = self.launch
        return Subject(
            run.host,
            run.port,
            launch.log,
            run.log_start,
            launch.cwd,
            launch.env,
            launch.probe_command,
        )

    def _watch(self, run: Run) -> Run:
        """Look after the process until it ends or is to end."""
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        try:
            descriptor = watch_exit(run.pid)
        except OSError:
            return self._ended(run)
        try:
            if leader_vitals(run.leader) is None:
                return self._ended(run)
            poller.register(descriptor, select.POLLIN)
            watch = _Watch(self.launch.service.ready, self.launch.service.live, run)
            ask = prober(self.launch.service.ready, self._subject(run), self._board.children)
            live = self.launch.service.live
            ask_live = prober(live, self._subject(run), self._board.children) if live else ask
            while not self._stopping:
                happened = [found for found, _ in poller.poll(watch.wait_ms())]
                if self._stopping:
                    break
                if descriptor in happened:
                    return self._ended(run)
                if self.launch.service.kind == "task":
                    continue
                run = self._probe(run, watch, ask, ask_live)
        finally:
            os.close(descriptor)
        return run

    def _probe(
        self,
        run: Run,
        watch: "_Watch",
        ask: Callable[[float], bool],
        ask_live: Callable[[float], bool],
    ) -> Run:
        if not watch.is_ready:
            if ask(watch.up_s()) and self._owns_port(run):
                watch.became_ready()
                run = run._replace(ready_at=time.time(), probed_at=time.time())
                return self._note(run, "ready")
            if watch.is_late() and self.phase != "late":
                run = self._note(run, "starting", "not-ready-in-time")
                self._settle("late", "not-ready-in-time")
            return run
        good = ask_live(watch.up_s())
        failures = watch.judged(good=good)
        run = run._replace(probed_at=time.time())
        if good and run.phase == "unhealthy":
            return self._note(run, "ready")
        live = self.launch.service.live
        if live and failures >= live.failures:
            run = self._note(run, "unhealthy", "live-check-failed")
            if self.launch.service.restart.policy != "no":
                self._unwell = True
                stop_family(run.leader, grace_s=self.launch.service.stop.grace_s)
        return run

    @staticmethod
    def _owns_port(run: Run) -> bool:
        """Whether its port is open, and it is this run that opened it."""
        if run.port is None:
            return True
        phase = Truth().judge(run._replace(ready_at=time.time())).phase
        return phase not in ("port_conflict", "unhealthy")

    def _ended(self, run: Run) -> Run:
        """The leader is gone: note how."""
        code = self._board.children.wait(run.pid, 2.0)
        run = run._replace(exit_code=code, ended_at=time.time())
        add_mark(self.launch.log)
        if self._stopping:
            self.run = run
            return run
        if code == 0:
            phase = "completed" if run.kind == "task" else "exited"
            return self._note(run, phase, "exit-0")
        if code is None:
            return self._note(run, "exited", "gone")
        told = f"exit-{code}" if code > 0 else f"signal-{signal.Signals(-code).name}"
        return self._note(run, "crashed", told)

    def _end(self, run: Run) -> None:
        self._settle("stopping")
        self.outcome = end_run(run, self._board.children, self.launch)
        if not self.outcome.left:
            with contextlib.suppress(OSError):
                self._board.book.drop(run)
        self._settle("stopped")


class _Watch:
    """When to look next, and what was seen so far."""

    def __init__(self, ready: Check, live: Check | None, run: Run) -> None:
        self._ready = ready
        self._live = live
        self._began = time.monotonic()
        self._pause_s = FIRST_POLL_S
        self._failures = 0
        self.is_ready = run.ready_at is not None
        self._is_task = run.kind == "task"

    def up_s(self) -> float:
        """How long this watch lasts."""
        return time.monotonic() - self._began

    def wait_ms(self) -> float | None:
        """How long to sleep before the next look; nothing means until something happens."""
        if self._is_task:
            return None
        if self.is_ready:
            return self._live.interval_s * 1000 if self._live else None
        pause_s = self._pause_s
        self._pause_s = LATE_POLL_S if self.is_late() else min(LAST_POLL_S, pause_s * 1.5)
        return max(1.0, pause_s * 1000)

    def is_late(self) -> bool:
        """Whether the service had its time to become ready."""
        return self.up_s() > self._ready.timeout_s

    def became_ready(self) -> None:
        """It answers."""
        self.is_ready = True

    def judged(self, *, good: bool) -> int:
        """How many looks in a row have failed."""
        self._failures = 0 if good else self._failures + 1
        return self._failures


def end_run(run: Run, children: Children, launch: Launch | None = None) -> Stopped:
    """Stop a run the way it asked to be stopped."""
    if run.stop_command and members(run.leader):
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            try:
                env = dict(launch.env) if launch else dict(os.environ)
                pid = children.spawn(run.stop_command, cwd=Path(run.worktree), env=env, output=null)
            finally:
                os.close(null)
            children.wait(pid, run.stop_grace_s)
    return stop_family(
        run.leader,
        number=signal.Signals(run.stop_signal),
        grace_s=run.stop_grace_s,
        port=run.port,
    )
