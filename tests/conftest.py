"""Pytest's part in the requirement record, and the marks that keep long runs out of short ones."""

import pytest

from support.requirements_record import Record, summary

LONG_RUNS = ("soak", "bench")
PROPERTY = "requirement"

record = pytest.StashKey[Record]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[record] = Record()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("requirement"):
            item.user_properties.extend((PROPERTY, id_) for id_ in mark.args)
    if config.option.markexpr:
        return
    long_runs = [item for item in items if any(map(item.get_closest_marker, LONG_RUNS))]
    if long_runs:
        config.hook.pytest_deselected(items=long_runs)
        items[:] = [item for item in items if item not in long_runs]


class Recorder:
    """Notes the outcome of each test; under xdist only the controller has one."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = [str(value) for name, value in report.user_properties if name == PROPERTY]
        if ids:
            self._config.stash[record].note(report.nodeid, ids, passed=report.passed)

    def pytest_sessionfinish(self) -> None:
        if not self._config.option.collectonly:
            self._config.stash[record].save(afresh=self._whole_suite())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._whole_suite():
            terminalreporter.section("requirements")
            terminalreporter.write_line(summary(self._config.stash[record], missing=False))

    def _whole_suite(self) -> bool:
        narrowed = self._config.option.markexpr or self._config.option.keyword
        whole = self._config.args_source is not pytest.Config.ArgsSource.ARGS
        return whole and not narrowed and not self._config.option.collectonly


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "requirement-recorder")
