"""What Prometheus is told of a team, and what nobody is."""

import asyncio
import re
import subprocess
import sys

import httpx2
import pytest

from gate.over_http import connected
from support.postgres import Cluster
from support.processes import until_true
from support.workspace import Workspace
from switchboard import __version__
from switchboard.core.faults import Fault
from switchboard.daemon.metrics.metrics_port import read_place
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, SESSION, Held, called, initialize, modern
from team.ground import BEARER, PATIENCE, TOKEN, free_port, gateway, http_client
from team.staff import Staff, begun, ended, worker

_SAMPLE = re.compile(
    r'(?P<name>[a-z_]+)(?P<labels>\{(?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+\})? (?P<value>\S+)'
)
CALLS = "switchboard_calls_total"


class Scraped:
    """One answer, read as strictly as the format says."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[str, float] = {}
        kinds: dict[str, str] = {}
        assert text.endswith("\n")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                continue
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in kinds
                kinds[name] = kind
                continue
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            family = re.sub("_(bucket|sum|count)$", "", found["name"])
            kind = kinds[found["name"] if found["name"] in kinds else family]
            assert kind in {"counter", "gauge", "histogram"}
            assert (kind == "counter") == found["name"].endswith("_total")
            key = found["name"] + (found["labels"] or "")
            assert key not in self.values, key
            self.values[key] = float(found["value"])

    def __getitem__(self, key: str) -> float:
        return self.values["switchboard_" + key]


def place(port: int) -> str:
    return f"http://127.0.0.1:{port}/metrics"


async def scraped(port: int) -> Scraped:
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http:
        response = await http.get(place(port))
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scraped(response.text)


async def until(port: int, key: str, value: float) -> Scraped:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await scraped(port)
            if found.values.get(f"switchboard_{key}") == value:
                return found


async def test_calls_are_counted_by_server_and_outcome_and_nothing_else_of_them_is_told(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    held, port = Held(workspace), free_port()
    async with (
        gateway(held, database, "--metrics", str(port)) as running,
        http_client() as http,
    ):
        begun = await http.post(running.url, json=initialize(), headers=ACCEPTS)
        assert begun.headers[SESSION]
        body, headers = modern(called("two", "who"))
        await http.post(running.url, json=body, headers=headers)
        for name in ("canary-of-a-name", "who"):
            body, headers = modern(called("two", name, text="canary-of-an-argument"))
            await http.post(running.url, json=body, headers=headers)
        body, headers = modern(called("canary-of-a-tool", "who"))
        await http.post(running.url, json=body, headers=headers)
        body, headers = modern(called("one", "hold", name="held"))
        open_call = asyncio.ensure_future(http.post(running.url, json=body, headers=headers))
        await until_true(lambda: held.has_begun("held"))
        found = await scraped(port)
        assert (found["calls_in_flight"], found["sessions"], found["children"]) == (1, 1, 2)
        assert found['calls_total{server="two",outcome="ok"}'] >= 1
        counted = {key for key in found.values if key.startswith(CALLS)}
        assert f'{CALLS}{{server="two",outcome="not_found"}}' in counted
        twos = [value for key, value in found.values.items() if f'{CALLS}{{server="two"' in key]
        assert found['call_seconds_count{server="two"}'] == sum(twos) == 3
        assert found['call_seconds_bucket{server="two",le="+Inf"}'] == 3
        assert found[f'build_info{{version="{__version__}"}}'] == 1
        assert (found["database_up"], found['members{role="gateway"}']) == (1, 1)
        assert found["lease_seconds"] == 60
        assert 0 <= found["lease_age_seconds"] < 30
        assert (found["questions_waiting"], found["queue_depth"]) == (0, 0)
        for secret in ("canary", str(workspace.root), TOKEN, "hold", "127.0.0.1"):
            assert secret not in found.text, secret
        held.let_end("held")
        await open_call
        assert (await scraped(port))["calls_in_flight"] == 0


async def test_metrics_are_for_who_is_on_the_machine_or_has_their_token(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    held, port, other = Held(workspace), free_port(), free_port()
    token = {"SWITCHBOARD_METRICS_TOKEN": "canary-token-of-metrics"}
    bearer = {"authorization": "Bearer canary-token-of-metrics"}
    async with (
        gateway(held, database, "--metrics", str(port)) as running,
        gateway(held, database, "--metrics", f"0.0.0.0:{other}", env=token),
        httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http,
    ):
        for url, headers, status in (
            (place(port), {}, 200),
            # A page that had its own name bound to this address.
            (place(port), {"host": f"evil.example:{port}"}, 421),
            (place(port), {"origin": "http://evil.example"}, 403),
            (place(port).removesuffix("s"), {}, 404),
            (place(other), {}, 401),
            (place(other), BEARER, 401),
            (place(other), bearer, 200),
            # No client of the team finds it.
            (f"{running.origin}/metrics", BEARER, 404),
            (f"{running.origin}/metrics", {}, 401),
        ):
            assert (await http.get(url, headers=headers)).status_code == status, (url, headers)
        assert (await http.post(place(port))).status_code == 405
    with pytest.raises(AssertionError, match="would be read by whoever reaches it"):
        async with gateway(held, database, "--metrics", "0.0.0.0:0"):
            """It is not there."""


@pytest.mark.parametrize("words", ["nonsense", "1:99999", ":", "127.0.0.1:-1"])
def test_what_is_no_place_for_metrics_is_refused(words: str) -> None:
    with pytest.raises(Fault, match="is no place for metrics"):
        read_place(words, {})


def test_a_token_of_metrics_is_one_that_can_be_shown() -> None:
    with pytest.raises(Fault, match="cannot stand in a header"):
        read_place("9464", {"SWITCHBOARD_METRICS_TOKEN": "two words"})
    assert read_place("", {}) is None


async def test_a_database_that_is_away_is_told_and_the_rest_is_still_there(
    workspace: Workspace, database: DatabaseAddress, postgres: Cluster
) -> None:
    port = free_port()
    async with gateway(Held(workspace), database, "--metrics", str(port)):
        await until(port, "database_up", 1)
        postgres.crash()
        try:
            found = await until(port, "database_up", 0)
            assert "switchboard_queue_depth" not in found.values
            assert found["calls_in_flight"] == 0
        finally:
            postgres.start()
        await until(port, "database_up", 1)


async def test_runs_are_seen_in_the_queue_at_a_worker_and_when_they_end(
    workspace: Workspace, database: DatabaseAddress
) -> None:
    staff = Staff(workspace)
    port, other = free_port(), free_port()
    async with (
        gateway(staff, database, "--metrics", str(port)) as running,
        connected(running.url, "2026-07-28", None, token=TOKEN) as client,
    ):
        run_id = await begun(client, staff, "fail", "task")
        found = await until(port, "queue_depth", 1)
        assert found['runs{state="queued"}'] == 1
        assert found["queue_oldest_seconds"] > 0
        async with worker(staff, database, "--metrics", str(other)):
            await until(other, 'runs{state="working"}', 1)
            staff.let_end("task")
            assert (await ended(client, run_id))[0] == "completed"
            found = await until(other, 'runs_ended_total{state="completed"}', 1)
            assert found['members{role="worker"}'] == 1
            assert found["queue_depth"] == 0


def test_whoever_is_no_process_of_a_team_loads_nothing_of_it() -> None:
    """On a laptop nothing is counted."""
    code = (
        "import sys, switchboard.daemon.main, switchboard.daemon.serve_http\n"
        "import switchboard.cli.verbs.serving.serve\n"
        "print([name for name in sys.modules if 'daemon.metrics' in name or 'psycopg' in name])"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout == "[]\n"
