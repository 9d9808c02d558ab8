"""One thread per service: waits for its dependencies, starts it, watches it, ends it.

Locks: `ServiceContext.changed` guards what a service thread tells others (`phase`, `reason`, and
whether it is to stop). It is held for moments only: never while a process is started, probed or
ended, nor while a file is written. A request thread may take it while it holds a lock of the yard;
a service thread takes none of those, so the two cannot wait for each other.
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

from switchkit.exits import watch_exit
from switchkit.files import make_folder, make_private_folder, open_log
from switchkit.platform.light import wake_pipe
from switchkit.platform.processes import vitals
from switchyard.files import disk_trouble
from switchyard.runtime.family import RUN_VARIABLE, leader_vitals
from switchyard.runtime.launch import ServiceLaunch
from switchyard.runtime.log.lines import rotate
from switchyard.runtime.log.times import add_mark
from switchyard.runtime.observed import Observer
from switchyard.runtime.runs import RunRecord
from switchyard.supervisor.probes import ProbeSchedule, ProbeTarget, prober
from switchyard.supervisor.service.kin import kin
from switchyard.supervisor.service.new_run import new_run
from switchyard.supervisor.service.service_context import ServiceContext
from switchyard.supervisor.stopping import Stopped, end_run, stop_family

STOP_SLACK_S = 12.0
SETTLED = ("ready", "completed", "crashed", "exited", "failed", "blocked", "stopped", "late")
BAD = ("crashed", "exited", "failed", "blocked", "late")


class ServiceThread:
    """The life of one service of one branch, from request to stop."""

    def __init__(
        self,
        launch: ServiceLaunch,
        context: ServiceContext,
        *,
        waits_for: Callable[[], str | None] | None = None,
        adopted: RunRecord | None = None,
    ) -> None:
        self.launch = launch
        # Changed by this thread alone, phase and reason under `changed`. Others may read them.
        self.phase = "waiting" if adopted is None else adopted.phase
        self.run: RunRecord | None = adopted
        self.reason: str | None = None
        # Set before the thread ends, and read by whoever has joined it.
        self.outcome: Stopped | None = None
        self._context = context
        self._waits_for = waits_for or (lambda: "")
        self._adopted = adopted
        # Set by `stop` under `changed`, never unset, so this thread may read it without the lock.
        self._stopping = False
        # Whether a live check ended the process: then it is started again whatever its exit code.
        self._unwell = False
        # The run as it is on disk, if it is; a full disk must not leave a false record for long.
        self._saved_run = adopted
        self.is_saved = True
        self._saving = threading.Lock()
        self._restarts = 0
        self._began = 0.0
        # Set by `renew` under `changed`, unset by this thread when it starts again. Until then
        # nothing but its end is told of the process that goes.
        self._renewing = False
        # A byte here ends the waits that do not use `changed`: for a process, for a pause.
        self._wake_read, self._wake_write = wake_pipe()
        self._thread = threading.Thread(target=self._live, name=launch.service.name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether this thread still looks after its service."""
        return self._thread.is_alive() and not self._stopping

    @property
    def has_ended(self) -> bool:
        """Whether this thread has finished its work."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ask the thread to stop; `join` waits for it."""
        with self._context.changed:
            self._stopping = True
            # Under the lock: `_live` closes the pipe under it too, and its number may be reused.
            with contextlib.suppress(OSError):
                os.write(self._wake_write, b"x")
            self._context.changed.notify_all()

    def renew(self, waits_for: Callable[[], str | None]) -> bool:
        """Ask for another process, started when its peers let it; false when this thread has ended.

        Called under `context.changed`, so that several are asked before any of them acts.
        """
        if self._stopping or self._wake_write < 0:
            return False
        self._renewing, self._waits_for = True, waits_for
        self.phase, self.reason = "restarting", "files-changed"
        os.write(self._wake_write, b"x")
        self._context.changed.notify_all()
        return True

    def join(self, timeout_s: float) -> bool:
        """Wait for the end."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _announce(self, phase: str, reason: str | None = None) -> None:
        with self._context.changed:
            if not self._renewing or phase in ("stopping", "stopped"):
                self.phase, self.reason = phase, reason
            self._context.changed.notify_all()

    def _record(
        self, run: RunRecord, phase: str, reason: str | None = None, *, known_as: str | None = None
    ) -> RunRecord:
        """Write the record first, then let it be known, under another phase if one is given."""
        run = run._replace(phase=phase, reason=reason)
        self.run = run
        if not self.save_again():
            self._context.wake()
        self._announce(known_as or phase, reason)
        return run

    def save_again(self) -> bool:
        """Write the record if the last write failed; whether nothing is left to write."""
        with self._saving:
            if self.run and self._saved_run != self.run:
                try:
                    self._context.book.put(self.run)
                except OSError:
                    self.is_saved = False
                else:
                    self._saved_run, self.is_saved = self.run, True
        return self._saved_run == self.run

    def _live(self) -> None:
        try:
            if self._adopted:
                self._context.log_clock.follow(self.launch.log)
            elif not self._await_peers():
                return
            self._runs()
            while not self._is_over():
                self._runs()
        finally:
            self._is_over(for_good=True)

    def _is_over(self, *, for_good: bool = False) -> bool:
        """Close this thread, unless it was asked to start its service again meanwhile."""
        with self._context.changed:
            if self._renewing and not self._stopping and not for_good:
                return False
            if self._wake_write >= 0:
                for descriptor in (self._wake_read, self._wake_write):
                    os.close(descriptor)
                self._wake_write = -1
            if self.phase not in SETTLED:
                # Only a bug of ours leads here; nobody may wait for ever because of it.
                self.phase, self.reason = "failed", "internal-error"
            self._context.changed.notify_all()
            return True

    def _await_peers(self) -> bool:
        """Wait for the dependencies; false when this service is not to be started any more."""
        with self._context.changed:
            # `_waits_for` reads the phases of others: consistent, because none changes meanwhile.
            while not self._stopping:
                reason = self._waits_for()
                if reason == "":
                    return True
                if reason is not None:
                    self.phase, self.reason = "blocked", reason
                    self._context.changed.notify_all()
                    return False
                self._context.changed.wait()
            self.phase = "stopped"
            self._context.changed.notify_all()
            return False

    def _runs(self) -> None:
        """Start again and again, as the restart rule says, until told to stop."""
        rule = self.launch.service.restart
        run, self._adopted = self._adopted, None
        while True:
            if self._renewing:
                if not self._renewed():
                    return
                run = None
            run = run or self._spawn(self._restarts)
            if run is None:
                return
            self._began = time.monotonic()
            run = self._watch(run)
            if self._stopping:
                self._end(run)
                return
            if self._renewing:
                continue
            if self.phase != "restarting":
                return
            pause_s = min(rule.last_s, rule.first_s * 2**self._restarts)
            self._restarts += 1
            if self._sleep(pause_s):
                self._end(run)
                return
            if self._renewing:
                continue
            # The leader is gone, but a child of it may still hold the port.
            stop_family(run.leader, number=signal.SIGTERM, grace_s=1.0)
            run = None

    def _renewed(self) -> bool:
        """End the process and wait until another may start; false when none may."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 64)
        if self.run and not self._stopping:
            end_run(self.run, self._context.children, self.launch)
        may_start = not self._stopping and self._await_peers()
        with self._context.changed:
            self._renewing = False
        if self._stopping and self.run:
            self._end(self.run)
        self._restarts = 0
        return may_start and not self._stopping

    def _starts_again(self, run: RunRecord) -> bool:
        """Whether the rule says to start a service again that has ended so."""
        rule = self.launch.service.restart
        wanted = rule.policy == "always" or (rule.policy == "on-failure" and run.exit_code != 0)
        if self.launch.service.kind == "task" and run.exit_code == 0:
            wanted = False
        if time.monotonic() - self._began >= rule.reset_after_s:
            self._restarts = 0
        wanted = wanted or (self._unwell and rule.policy != "no")
        self._unwell = False
        return wanted and self._restarts < rule.max

    def _sleep(self, pause_s: float) -> bool:
        """Wait; true when told to stop meanwhile."""
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        poller.poll(pause_s * 1000)
        return self._stopping

    def _spawn(self, restarts: int) -> RunRecord | None:
        launch, service = self.launch, self.launch.service
        run = new_run(launch, restarts)
        try:
            make_private_folder(launch.log.parent)
            if launch.data:
                make_folder(launch.data)
            rotate(launch.log, self._context.max_log_bytes, self._context.keep_logs)
            output = open_log(launch.log)
            try:
                run = run._replace(log_start=os.fstat(output).st_size)
                self._context.book.put(run)  # proves there is room for the record before the start
                env = {**launch.env, RUN_VARIABLE: run.run_id}
                holds = service.stdin == "hold"
                command = self._context.command_of(run, tty=service.tty)
                pid = self._context.children.spawn(
                    command, cwd=launch.cwd, env=env, output=output, holds_input=holds
                )
            finally:
                os.close(output)
        except OSError as wrong:
            told = f"{wrong.strerror or wrong}: {wrong.filename or launch.command[0]}"
            self._record(run, "failed", disk_trouble(wrong, launch.log.parent) or told)
            return None
        found = vitals(pid)
        run = run._replace(pid=pid, ticks=found.began if found else 0)
        add_mark(launch.log)
        self._context.log_clock.follow(launch.log)
        return self._record(run, "starting")

    def _target(self, run: RunRecord) -> ProbeTarget:
        launch = self.launch
        return ProbeTarget(
            run.host,
            run.port,
            launch.log,
            run.log_start,
            launch.cwd,
            launch.env,
            launch.probe_command,
        )

    def _watch(self, run: RunRecord) -> RunRecord:
        """Watch the process until it ends or has to."""
        poller = select.poll()
        poller.register(self._wake_read, select.POLLIN)
        try:
            descriptor = watch_exit(run.pid)
        except OSError:
            return self._ended(run)
        try:
            # Opened first, compared second: now the descriptor is our process's or nobody's.
            if leader_vitals(run.leader) is None:
                return self._ended(run)
            poller.register(descriptor, select.POLLIN)
            schedule = ProbeSchedule(self.launch.service.ready, self.launch.service.live, run)
            ask = prober(self.launch.service.ready, self._target(run), self._context.children)
            live = self.launch.service.live
            ask_live = prober(live, self._target(run), self._context.children) if live else ask
            while not self._stopping and not self._renewing:
                happened = [found for found, _ in poller.poll(schedule.wait_ms())]
                if self._stopping or self._renewing:
                    break
                if descriptor in happened:
                    return self._ended(run)
                if self.launch.service.kind == "task":
                    continue
                run = self._probe(run, schedule, ask, ask_live)
        finally:
            os.close(descriptor)
        return run

    def _probe(
        self,
        run: RunRecord,
        schedule: ProbeSchedule,
        ask: Callable[[float], bool],
        ask_live: Callable[[float], bool],
    ) -> RunRecord:
        if not schedule.is_ready:
            if ask(schedule.up_s()) and self._owns_port(run):
                schedule.became_ready()
                run = run._replace(ready_at=time.time(), probed_at=time.time())
                return self._record(run, "ready")
            if schedule.is_late() and self.phase != "late":
                run = self._record(run, "starting", "not-ready-in-time")
                self._announce("late", "not-ready-in-time")
            return run
        good = ask_live(schedule.up_s())
        failures = schedule.judged(good=good)
        run = run._replace(probed_at=time.time())
        if good and run.phase == "unhealthy":
            return self._record(run, "ready")
        live = self.launch.service.live
        if live and failures >= live.failures:
            run = self._record(run, "unhealthy", "live-check-failed")
            if self.launch.service.restart.policy != "no":
                self._unwell = True
                stop_family(run.leader, grace_s=self.launch.service.stop.grace_s)
        return run

    @staticmethod
    def _owns_port(run: RunRecord) -> bool:
        """Whether its port is open, and opened by this run."""
        if run.port is None:
            return True
        phase = Observer().observe(run._replace(ready_at=time.time())).phase
        return phase not in ("port_conflict", "unhealthy")

    def _ended(self, run: RunRecord) -> RunRecord:
        """Note how the leader ended."""
        code = self._context.children.wait(run.pid, 2.0)
        run = run._replace(exit_code=code, ended_at=time.time())
        add_mark(self.launch.log)
        waits = code == 0 and run.kind == "service"
        left = kin(run, self._context.children, self._sleep, waits=waits)
        run = run._replace(kin=left.processes, kin_sessions=left.sessions)
        if self._stopping:
            self.run = run
            return run
        if code == 0:
            phase, told = "completed" if run.kind == "task" else "exited", "exit-0"
        elif code is None:
            phase, told = "exited", "gone"
        else:
            phase = "crashed"
            told = f"exit-{code}" if code > 0 else f"signal-{signal.Signals(-code).name}"
        # Who waits for this service gives up when it has ended. So it is told only once, when it is
        # known whether the service starts again.
        known_as = "restarting" if self._starts_again(run) else phase
        return self._record(run, phase, told, known_as=known_as)

    def _end(self, run: RunRecord) -> None:
        self._announce("stopping")
        self.outcome = end_run(run, self._context.children, self.launch)
        if not self.outcome.left:
            with self._saving, contextlib.suppress(OSError):
                self.run = self._saved_run = run
                self._context.book.drop(run)
        self._context.log_clock.forget(self.launch.log)
        self._announce("stopped")
