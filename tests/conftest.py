"""Pytest's part in the records of tests, and the marks that keep long runs out of short ones."""

import faulthandler
import json
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import HealthCheck, settings

from support.canaries import leaks_below
from support.chromium import Chromium
from support.elsewhere import is_for_linux
from support.measuring import measured_or_not
from support.postgres import Cluster
from support.relays import MARK, PAGE, RELAYED, RelayRecord, claims, is_behind
from support.requirements_record import Record, summary

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# A shell that starts the tests in the background has them ignore Ctrl-C, and every program that
# they start would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG_RUNS = ("soak", "bench", "browser")
# Longer than any clean-up takes. The time limit of a test counts once, so that a test which ran
# into it could wait here for ever; pytest's own watch ends with the failure too.
LONGEST_TEARDOWN_S = 180
PROPERTY = "requirement"

record = pytest.StashKey[Record]()
relayed = pytest.StashKey[RelayRecord]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[record] = Record()
    config.stash[relayed] = RelayRecord()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if sys.platform == "linux" or not collection_path.match("test_*.py"):
        return None
    return is_for_linux(collection_path.read_text("utf-8")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("requirement"):
            item.user_properties.extend((PROPERTY, id_) for id_ in mark.args)
        item.user_properties.extend((MARK, json.dumps(claim)) for claim in claims(item))
    if config.option.markexpr:
        return
    long_runs = [item for item in items if any(map(item.get_closest_marker, LONG_RUNS))]
    if long_runs:
        config.hook.pytest_deselected(items=long_runs)
        items[:] = [item for item in items if item not in long_runs]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with measured_or_not(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    stderr = item.config.stash[fault_handler_stderr_fd_key]
    faulthandler.dump_traceback_later(LONGEST_TEARDOWN_S, file=stderr, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


class Recorder:
    """Notes the outcome of each test; under xdist only the controller has one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # Files that hold a secret of a test, and should not.
        self._leaks: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        stash = self._config.stash
        for noted, name in ((stash[record], PROPERTY), (stash[relayed], MARK)):
            ids = [str(value) for key, value in report.user_properties if key == name]
            if ids:
                noted.note(report.nodeid, ids, passed=report.passed)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._config.option.collectonly:
            self._config.stash[record].save(afresh=self._whole_suite())
            self._config.stash[relayed].save(RELAYED, afresh=self._whole_suite())
        factory: pytest.TempPathFactory | None = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None and not self._config.option.collectonly:
            self._leaks = sorted(leaks_below(factory.getbasetemp()))
        is_short = self._whole_suite() and (
            is_behind(self._config.stash[relayed])
            or bool(self._config.stash[record].open_attacks())
        )
        if self._leaks or is_short:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._leaks:
            terminalreporter.section("files that hold a secret")
            for path in self._leaks:
                terminalreporter.write_line(path)
        if self._whole_suite():
            terminalreporter.section("requirements")
            terminalreporter.write_line(summary(self._config.stash[record], missing=False))
            if unshown := self._config.stash[record].open_attacks():
                told = ", ".join(unshown)
                terminalreporter.write_line(f"no passing test shows that these fail: {told}")
            if is_behind(self._config.stash[relayed]):
                terminalreporter.write_line(f"{PAGE.name} is behind the tests: make relayed")

    def _whole_suite(self) -> bool:
        narrowed = self._config.option.markexpr or self._config.option.keyword
        whole = self._config.args_source is not pytest.Config.ArgsSource.ARGS
        return whole and not narrowed and not self._config.option.collectonly


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "requirement-recorder")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Generator[Chromium]:
    """A real Chromium, started by the first test that needs one."""
    program = Chromium(tmp_path_factory.mktemp("chromium"))
    yield program
    program.close()


@pytest.fixture(scope="session")
def postgres() -> Generator[Cluster]:
    """A real PostgreSQL, started by the first test that needs one."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()
