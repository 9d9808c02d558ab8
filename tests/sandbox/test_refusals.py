"""What is never opened, and links that would decide what is."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.den import Den
from switchboard.core.faults import Fault


async def refused(den: Den, **more: Any) -> Fault:
    """Run a program that must not start; gives why it did not."""
    with pytest.raises(Fault) as caught:
        await den.run(("touch", str(den.workspace / "ran")), **more)
    assert not (den.workspace / "ran").exists()
    return caught.value


@pytest.mark.parametrize("key", ["cwd", "writable_roots", "read_roots"])
@pytest.mark.parametrize("place", ["/", "home", "above", "/proc", "/sys/kernel", "missing"])
async def test_such_a_root_is_refused(den: Den, key: str, place: str) -> None:
    places = {"home": den.home, "above": den.home.parent, "missing": den.home / "missing"}
    path = str(places.get(place, place))
    fault = await refused(den, **{key: path if key == "cwd" else (path,)})
    assert fault.reason == "sandbox-root"
    assert str(den.home) not in fault.message + fault.hint


async def test_a_link_to_the_home_is_the_home(den: Den) -> None:
    (den.workspace / "link").symlink_to(den.home)
    fault = await refused(den, read_roots=(str(den.workspace / "link"),))
    assert fault.reason == "sandbox-root"


async def test_a_home_that_cannot_be_hidden_is_refused(den: Den) -> None:
    assert (await refused(den, home="/")).reason == "sandbox-root"
    assert (await refused(den, home="/no/such/home")).reason == "sandbox-root"


@pytest.mark.parametrize("key", ["writable_roots", "read_roots"])
async def test_switchboards_own_folder_is_never_opened(den: Den, key: str) -> None:
    own = den.home / "own"
    (own / "inside").mkdir(parents=True)
    hidden = (str(own),)
    fault = await refused(den, hidden=hidden, **{key: (str(own / "inside"),)})
    assert fault.reason == "sandbox-root"
    # Its own state folder is, and nothing beside it.
    (own / "secret").write_text("secret")
    listing = await den.run(("ls", str(own)), hidden=hidden, state_dir=str(own / "inside"))
    assert listing.stdout.split() == ["inside"]


async def test_a_folder_above_switchboards_own_cannot_be_written(den: Den) -> None:
    own = den.workspace / "own"
    own.mkdir()
    assert (await refused(den, hidden=(str(own),))).reason == "sandbox-root"


@pytest.mark.parametrize(
    "place",
    [".git", ".git/hooks", ".vscode", ".switchboard", ".mcp.json", ".env", "nested/.git"],
)
async def test_a_protected_path_that_is_a_link_is_refused(
    den: Den, tmp_path: Path, place: str
) -> None:
    """It could be pointed elsewhere between the look and the mount."""
    target = tmp_path / "target"
    (target / "hooks").mkdir(parents=True)
    link = den.workspace / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    fault = await refused(den)
    assert fault.reason == "sandbox-link"
    assert fault.private == str(link)


async def test_an_ordinary_link_is_none_of_our_business(den: Den) -> None:
    (den.workspace / "latest").symlink_to("somewhere")
    assert (await den.run(("/bin/true",))).status == 0


async def test_too_many_repositories_are_refused_and_not_left_unguarded(den: Den) -> None:
    for number in range(101):
        (den.workspace / str(number) / ".git").mkdir(parents=True)
    fault = await refused(den)
    assert "more than 100 repositories" in fault.message


async def test_a_hundred_repositories_are_guarded(den: Den) -> None:
    for number in range(100):
        den.repository(str(number))
    hook = den.workspace / "99" / ".git" / "hooks" / "x"
    ended = await den.run(("touch", str(hook)))
    assert ended.status != 0
    assert not hook.exists()


async def test_too_many_environment_files_are_refused_and_not_left_open(den: Den) -> None:
    (den.workspace / "many").mkdir()
    for number in range(501):
        (den.workspace / "many" / f".env.{number}").touch()
    fault = await refused(den)
    assert "more than 500 environment files" in fault.message
    assert "read_env_files" in fault.hint
    assert (await den.run(("true",), read_env_files=True)).status == 0


async def test_a_command_that_is_not_there_is_told_as_such(den: Den) -> None:
    with pytest.raises(Fault) as caught:
        await den.run(("no-such-command",))
    assert caught.value.reason == "spawn-failed"
    assert "`no-such-command` was not found" in caught.value.message


async def test_a_command_is_never_found_in_the_folder_where_it_runs(den: Den) -> None:
    program = den.workspace / "tool"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    with pytest.raises(Fault):
        await den.run(("tool",), path=".::/usr/bin")
    assert (await den.run(("./tool",))).status == 0
