"""Runs the official conformance suite against Switchboard and prints what it says.

The server scenarios run against a server that passes them, then against the same server behind
Switchboard, as a program and as a remote server. What passes directly has to pass behind it. The
client scenarios are servers of the suite's own, and Switchboard is their client.

Usage: python -m conformance.run [--server | --client] [SCENARIO…]
"""

import argparse
import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from conformance import targets
from conformance.suite import SIDES, VERSIONS, Outcome, outcomes, run, scenarios
from conformance.targets import Target
from conformance.verdicts import Row, is_lost, table, weaker, why
from support.measuring import starter
from support.nursery import VARIABLE as NURSERY
from support.nursery import nursery, started_in_it
from support.workspace import CHECKOUT

# What the suite wrote stays here until the next run, for those who want to know more.
KEPT = CHECKOUT / ".run" / "conformance"
DRIVER = Path(__file__).parent / "child_client.py"
AUTH_DRIVER = Path(__file__).parent / "auth_client.py"
# What every client of a scenario loads.
LOADED = ("conformance.child_client", "conformance.auth_client")
DIRECT = "direct"
LOGIN = "login"
HANDSHAKE = "handshake child"
# Two at a time: some scenarios give a server only half a second.
AT_ONCE = 2
# A loss is looked at again, alone: a busy machine is no fault of the relay. Many are no accident.
SECOND_LOOKS = 5
FEW = 5

FRONTS = {"handshake client": "legacy", "modern client": "2026-07-28"}
Way = Callable[[Path], AbstractAsyncContextManager[Target]]


WAYS: dict[str, Way] = {
    DIRECT: targets.direct,
    "stdio child": targets.through_stdio,
    "http child": targets.through_http,
    HANDSHAKE: targets.through_handshake,
}


async def server_rows(kept: Path, wanted: Sequence[str] = ()) -> list[Row]:
    """Run the server scenarios in every way and version."""
    expected = {version: _wanted(scenarios("server", version), wanted) for version in VERSIONS}
    found: dict[tuple[str, str], dict[str, Outcome]] = {}
    # Of all ways together, so that nobody waits for the last of one.
    gate = asyncio.Semaphore(AT_ONCE)
    for way in WAYS:
        (kept / way).mkdir(parents=True)
    ran = await asyncio.gather(
        *(_way(opened, expected, kept / way, gate) for way, opened in WAYS.items())
    )
    for way, by_version in zip(WAYS, ran, strict=True):
        for version, by_name in zip(expected, by_version, strict=True):
            for name, outcome in by_name.items():
                found.setdefault((name, version), {})[way] = outcome
    for way, opened in WAYS.items():
        lost = [
            (name, version)
            for (name, version), ways in found.items()
            if judged(way, version) and is_lost(ways[DIRECT], ways[way])
        ]
        for name, version in lost[:SECOND_LOOKS]:
            found[name, version][way] = await _alone(opened, version, name, kept / way)
    return [Row(name, version, ways) for (name, version), ways in sorted(found.items())]


async def _way(
    opened: Way, expected: Mapping[str, Sequence[str]], folder: Path, gate: asyncio.Semaphore
) -> list[dict[str, Outcome]]:
    """Run the scenarios of every version in one way."""
    async with opened(folder) as target:
        return await asyncio.gather(
            *(
                _version(target, version, names, folder / version, gate)
                for version, names in expected.items()
            )
        )


async def _version(
    target: Target, version: str, names: Sequence[str], folder: Path, gate: asyncio.Semaphore
) -> dict[str, Outcome]:
    # A few are run one by one, all of them by one process.
    chosen = [["--scenario", name] for name in names] if len(names) < FEW else [["--suite", "all"]]
    found: dict[str, Outcome] = {}
    for number, words in enumerate(chosen):
        place = folder / str(number)
        async with gate:
            await run([*_server(target, version), *words], place, target.env)
        ran = [words[1]] if words[0] == "--scenario" else names
        found |= outcomes(place, ran, "server")
    return found


async def _alone(opened: Way, version: str, name: str, kept: Path) -> Outcome:
    # With a server of its own: log messages that may be about the scenario before reach nobody.
    folder = kept / f"{version}-{name}"
    folder.mkdir()
    async with opened(folder) as target:
        place = folder / "suite"
        await run([*_server(target, version), "--scenario", name], place, target.env)
    return outcomes(place, [name], "server")[name]._replace(again=True)


def _server(target: Target, version: str) -> list[str]:
    return ["server", "--url", target.url, "--spec-version", version]


async def client_rows(kept: Path, wanted: Sequence[str] = ()) -> list[Row]:
    """Run the client scenarios without authorization, for clients of either era."""
    gate = asyncio.Semaphore(AT_ONCE)
    pairs = [
        (name, version)
        for version in VERSIONS
        for name in _wanted(scenarios("client", version), wanted)
        if not name.startswith("auth/")
    ]

    async def row(name: str, version: str) -> Row:
        ways: dict[str, Outcome] = {}
        for way, endpoint in FRONTS.items():
            folder = kept / way / f"{version}-{name}"
            async with gate:
                ways[way] = await _client(name, version, endpoint, folder, at)
        return Row(name, version, ways)

    async with nursery(LOADED, starter(os.environ)) as at:
        rows = await asyncio.gather(*(row(name, version) for name, version in pairs))
        bad = [(found, way) for found in rows for way in FRONTS if not found.outcomes[way].passes]
        for found, way in bad[:SECOND_LOOKS]:
            folder = kept / way / f"{found.version}-{found.scenario}-again"
            outcome = await _client(found.scenario, found.version, FRONTS[way], folder, at)
            found.outcomes[way] = outcome._replace(again=True)
    return sorted(rows)


async def auth_rows(kept: Path, wanted: Sequence[str] = ()) -> list[Row]:
    """Run the scenarios of authorization, each in the newest version that knows it.

    Which era the client in front speaks makes no difference to a login.
    """
    newest = {
        name: version
        for version in VERSIONS
        for name in _wanted(scenarios("client", version), wanted)
        if name.startswith("auth/")
    }
    gate = asyncio.Semaphore(AT_ONCE)

    async def row(name: str, version: str) -> Row:
        async with gate:
            folder = kept / name.replace("/", "-")
            front = FRONTS["handshake client"]
            outcome = await _client(name, version, front, folder, at, driver=AUTH_DRIVER)
            if not outcome.passes:
                folder = folder.with_name(f"{folder.name}-again")
                outcome = await _client(name, version, front, folder, at, driver=AUTH_DRIVER)
            return Row(name, version, {LOGIN: outcome})

    async with nursery(LOADED, starter(os.environ)) as at:
        rows = await asyncio.gather(*(row(name, version) for name, version in newest.items()))
    return sorted(rows)


async def _client(
    name: str, version: str, endpoint: str, folder: Path, at: str, *, driver: Path = DRIVER
) -> Outcome:
    # The suite hands the words to a shell, and adds the address.
    command = shlex.join(started_in_it(driver))
    words = ["client", "--command", command, "--scenario", name, "--spec-version", version]
    # On a busy machine a login takes long.
    words += ["--timeout", "90000"]
    env = {
        "CONFORMANCE_FRONT": endpoint,
        NURSERY: at,
    }
    code = await run(words, folder, env)
    outcome = outcomes(folder, [name], "client")[name]
    if code and outcome.passes:
        return outcome._replace(problem=_last_words(folder))
    return outcome


def _last_words(folder: Path) -> str:
    said = [path.read_text("utf-8", "replace").strip() for path in folder.glob("**/stderr.txt")]
    last = [text.splitlines()[-1] for text in said if text]
    return f"the client failed: {last[0] if last else 'without a word'}"


def _wanted(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    return [name for name in names if not wanted or name in wanted]


def judged(way: str, version: str) -> bool:
    """Tell whether a way has to lose nothing in a version.

    A server of the older era passes no scenario of the newer one by itself. Behind Switchboard it
    does, as far as its own words carry; the table shows how far.
    """
    return way != HANDSHAKE or version != VERSIONS[-1]


def losses(rows: Sequence[Row], *, bridged: bool = False) -> list[str]:
    """Say what passes directly and not behind Switchboard, or fails worse there.

    With `bridged` it is about what a server of the older era cannot do at all by itself.
    """
    return [
        why(row, way)
        for row in rows
        for way, outcome in row.outcomes.items()
        if judged(way, row.version) != bridged and is_lost(row.outcomes[DIRECT], outcome)
    ]


def failures(rows: Sequence[Row]) -> list[str]:
    """Say what fails, whatever else does."""
    return [
        why(row, way)
        for row in rows
        for way, outcome in row.outcomes.items()
        if not outcome.passes or outcome.counted("WARNING")
    ]


def weaknesses(rows: Sequence[Row]) -> list[str]:
    """Say which single checks succeed directly only, in scenarios that pass."""
    return [
        f"{row.scenario} {row.version} ({way}): {', '.join(checks)}"
        for row in rows
        for way, outcome in row.outcomes.items()
        if way != DIRECT and (checks := weaker(row.outcomes[DIRECT], outcome))
    ]


def _section(title: str, lines: Sequence[str]) -> None:
    if lines:
        sys.stdout.write(f"\n{title}\n\n" + "\n".join(lines) + "\n")


async def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--server", action="store_true", help="run the server scenarios only")
    side.add_argument("--client", action="store_true", help="run the client scenarios only")
    parser.add_argument("scenario", nargs="*", help="run these only")
    given = parser.parse_args()
    known = {name for side in SIDES for version in VERSIONS for name in scenarios(side, version)}
    if unknown := set(given.scenario) - known:
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    shutil.rmtree(KEPT, ignore_errors=True)
    bad: list[str] = []
    if not given.client:
        rows = await server_rows(KEPT / "server", given.scenario)
        _section("Server scenarios", [table(rows, list(WAYS))])
        _section("Fails directly", [why(r, DIRECT) for r in rows if not r.outcomes[DIRECT].passes])
        _section("Weaker behind Switchboard", weaknesses(rows))
        _section("Not bridged to a child of the older era", losses(rows, bridged=True))
        bad += losses(rows)
        _section("Lost behind Switchboard", losses(rows))
        _section("Not run: extensions", [", ".join(scenarios("server"))])
    if not given.server:
        rows = await client_rows(KEPT / "client", given.scenario)
        _section("Client scenarios", [table(rows, list(FRONTS))])
        bad += failures(rows)
        _section("Failed", failures(rows))
        rows = await auth_rows(KEPT / "auth", given.scenario)
        _section("Authorization scenarios", [table(rows, [LOGIN])])
        bad += failures(rows)
        _section("Failed", failures(rows))
        _section("Not run: extensions", [", ".join(scenarios("client"))])
    sys.stdout.write(f"\n{len(bad)} lost or failed\n")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
