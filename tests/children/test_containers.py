"""Servers in containers: what is run, what is shown, and that none outlives us.

`docker` is a fake here (see `support.fake_docker`): no engine runs these tests.
"""

import asyncio
import json
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from support.daemons import daemon_pid, shim
from support.fake_docker import FakeDocker
from support.processes import children_of, until_gone, until_true
from support.workspace import Workspace, child_command
from switchboard.children.schema import ServerEntry
from switchboard.children.server_launches import ServerLaunches
from switchboard.children.starting.containers import container_run, in_container
from switchboard.core.catalog.tools import ToolSpec
from switchboard.procs.containers import ContainerStart, container_notes, sweep
from switchboard.procs.spawn import SpawnSpec
from switchkit.reaper_client import Reaper


@pytest.fixture
def docker(tmp_path: Path) -> Generator[FakeDocker]:
    fake = FakeDocker(tmp_path)
    yield fake
    fake.close()


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("docker run -i image", "docker run --rm --name N --label L -i image"),
        ("podman container run image", "podman container run --rm --name N --label L image"),
        (
            "/opt/bin/docker -H ssh://there -D run -i --rm image",
            "/opt/bin/docker -H ssh://there -D run --name N --label L -i --rm image",
        ),
        # A name of its owner stays; what belongs to the program inside is none.
        ("docker run --name mine image", "docker run --rm --label L --name mine image"),
        ("docker run --name=mine image", "docker run --rm --label L --name=mine image"),
        (
            "docker run -ie A=1 --init -v /a:/b image --name x --rm -d",
            "docker run --rm --name N --label L -ie A=1 --init -v /a:/b image --name x --rm -d",
        ),
        # An engine refuses `--rm` beside it.
        (
            "docker run --restart always image",
            "docker run --name N --label L --restart always image",
        ),
        (
            "docker run -e d --detach=false i",
            "docker run --rm --name N --label L -e d --detach=false i",
        ),
    ],
)
def test_a_container_gets_a_name_a_label_and_its_removal_where_its_owner_says_nothing_else(
    written: str, runs: str
) -> None:
    run = container_run(written.split())
    assert run is not None
    assert run.refusal() is None
    assert run.marked("a b", "7", "L") == tuple(runs.replace(" N", " switchboard-a-b-7").split())


@pytest.mark.parametrize(
    "written", ["docker ps", "docker", "docker -H x", "docker compose run a", "run a"]
)
def test_other_commands_are_left_as_they_are(written: str) -> None:
    assert container_run(written.split()) is None


@pytest.mark.parametrize("option", ["-d", "-itd", "--detach", "--detach=true"])
def test_a_detached_container_is_refused(option: str) -> None:
    run = container_run(["docker", "run", option, "image"])
    assert run is not None
    refusal = run.refusal()
    assert refusal is not None
    assert refusal.reason == "container-detached"


def test_a_person_is_asked_about_the_command_as_it_runs_and_the_same_at_every_start() -> None:
    entry = ServerEntry(name="files", transport="stdio", command="docker", args=("run", "image"))
    tool = ToolSpec(name="read", provider="direct")
    shown = {ServerLaunches(entry, "/")[tool].runs for _ in range(2)}
    assert shown == {"docker run --rm --name switchboard-files-… --label switchboard.owner=… image"}


def test_a_person_is_asked_about_the_command_that_was_trusted_without_what_we_add() -> None:
    entry = ServerEntry(
        name="notes", transport="stdio", command="python3", args=("notes.py",), cwd="/work",
        bytecode="/home/bytecode",
    )  # fmt: skip
    launch = ServerLaunches(entry, "/work")[ToolSpec(name="read", provider="direct")]
    assert (launch.runs, launch.is_own_folder) == ("python3 notes.py", False)
    assert ServerLaunches(entry, "/home/start/notes-1")[launch.tool].is_own_folder


def test_what_is_confined_has_nothing_run_outside_for_it() -> None:
    """A program that calls itself docker is not started by us without its sandbox."""
    entry = ServerEntry(
        name="files", transport="stdio", command="./docker", args=("run", "image"),
        sandbox_profile="default",
    )  # fmt: skip
    assert in_container(entry) is None


async def test_only_what_bears_the_label_of_one_who_is_gone_is_removed(
    docker: FakeDocker, tmp_path: Path
) -> None:
    """Also where a stranger's container has the very name that the start wanted."""
    folder, reaper = tmp_path / "notes", Reaper()
    notes = str(folder)
    env = {"PATH": docker.path, "TOKEN": "canary"}
    spec = SpawnSpec(argv=("docker",), cwd="/", env=env)
    ours, other, gone = (ContainerStart.new() for _ in range(3))
    try:
        for each in (ours, other):
            await each.note(("docker",), spec, folder=notes, reaper=reaper)
            await _started(docker, "--label", each.label)
        await _started(docker, "--name", "wanted", "--label", "switchboard.owner=somebody")
        written = _noted(notes)
        assert len(written) == 2
        assert not any("canary" in each for each in written)
        # The owners live: nothing is removed.
        await asyncio.to_thread(sweep, notes)
        assert len(docker.containers) == 3
        # Of one that was killed there is a note that nobody holds.
        left = json.loads(written[0])
        left[2] = gone.label.partition("=")[2]
        (folder / "left.container").write_text(json.dumps(left), "utf-8")
        (folder / "torn.container").write_text("[[", "utf-8")
        await _started(docker, "--label", gone.label)
        await asyncio.to_thread(sweep, notes)
        assert _labels(docker) == {ours.label, other.label, "switchboard.owner=somebody"}
        await ours.remove()
        assert _labels(docker) == {other.label, "switchboard.owner=somebody"}
        assert len(_noted(notes)) == 1
        # Another program in its place is not run, and what is left is tried again.
        real = docker.program.rename(docker.bin / "kept")
        docker.program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", "utf-8")
        docker.program.chmod(0o755)
        await other.remove()
        assert not (tmp_path / "ran").exists()
        real.rename(docker.program)
        await asyncio.to_thread(sweep, notes)
        assert _labels(docker) == {"switchboard.owner=somebody"}
        assert not _noted(notes)
    finally:
        await asyncio.to_thread(reaper.close)


async def test_no_container_outlives_a_daemon_however_it_ends(
    docker: FakeDocker, tmp_path: Path
) -> None:
    """Its program goes on without input and ignores SIGTERM, as many do in a container."""
    made = Workspace(tmp_path / "made", daemon=True)
    echo = " ".join(child_command("echo_child"))
    stubborn = ["docker", "run", "-i", "image", "/bin/sh", "-c", f"{echo}; sleep 600"]
    made.child("boxed", stubborn)
    made.env["PATH"] = os.pathsep.join((str(docker.bin), made.env["PATH"]))
    try:
        async with shim(made) as client:
            # Many first calls at once start one container.
            await asyncio.gather(
                *(client.call_subtool("boxed_suite", "echo", {"text": "x"}) for _ in range(64))
            )
            [container] = docker.containers
            assert container["name"].startswith("switchboard-boxed-")
            assert len(docker.starts()) == 1
            # The client of the engine is killed: its container goes, and the next call has another.
            [docker_client] = _clients(daemon_pid(made), docker)
            os.kill(docker_client, signal.SIGKILL)
            await until_gone([container["group"]])
            await client.call_subtool("boxed_suite", "echo", {"text": "again"})
            assert len(docker.containers) == 1
            daemon = daemon_pid(made)
            os.kill(daemon, signal.SIGKILL)
            await until_true(docker.is_empty)
        # Nobody is left to do it but the next daemon.
        async with shim(made) as client:
            await client.call_subtool("boxed_suite", "echo", {"text": "x"})
            [container] = docker.containers
            daemon = daemon_pid(made)
            reapers = [each for each in children_of(daemon) if each not in _clients(daemon, docker)]
            for each in (*reapers, daemon):
                os.kill(each, signal.SIGSTOP)
            for each in (*reapers, daemon):
                os.kill(each, signal.SIGKILL)
            await until_gone([daemon])
        assert docker.containers == [container]
        async with shim(made) as client:
            await until_true(docker.is_empty)
            await client.call_subtool("boxed_suite", "echo", {"text": "x"})
            assert len(docker.containers) == 1
    finally:
        made.stop_daemon()
    await until_true(docker.is_empty)
    assert not _noted(container_notes(str(made.home)))


async def _started(docker: FakeDocker, *words: str) -> None:
    count = len(docker.containers)
    process = await asyncio.create_subprocess_exec(
        docker.program,
        "run",
        *words,
        "image",
        "/bin/sleep",
        "600",
        stdin=asyncio.subprocess.DEVNULL,
    )
    await until_true(lambda: len(docker.containers) > count)
    process.kill()
    await process.wait()


def _noted(folder: str) -> list[str]:
    return [each.read_text("utf-8") for each in Path(folder).iterdir()]


def _labels(docker: FakeDocker) -> set[str]:
    return {f"{key}={value}" for each in docker.containers for key, value in each["labels"].items()}


def _clients(daemon: int, docker: FakeDocker) -> list[int]:
    wanted = str(docker.program).encode()
    return [
        each for each in children_of(daemon) if wanted in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
