"""On a disk that takes `Work` for `work`, a path has one spelling as a fence and as a key."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import folding_disk
from support.simulation import as_darwin
from support.workspace import Workspace
from switchkit.platform.darwin.paths import spelled, true_path

COMPOSED, DECOMPOSED = "Z\u00fcrich", "Zu\u0308rich"


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path.resolve() / "Disk"
    (root / "Users" / "Me" / "Work").mkdir(parents=True)
    (root / COMPOSED).mkdir()
    folding_disk.install(str(root), monkeypatch.setattr)
    return root


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Users/Me/Work", "Users/Me/Work"),
        ("users/me/work", "Users/Me/Work"),
        ("USERS/ME/WORK/../WORK/new/File", "Users/Me/Work/new/File"),
        (DECOMPOSED, COMPOSED),
        (DECOMPOSED.upper(), COMPOSED),
        (".", ""),
    ],
)
def test_any_spelling_leads_to_the_one_that_the_disk_has(
    disk: Path, given: str, wanted: str
) -> None:
    assert true_path(f"{disk}/{given}") == f"{disk}/{wanted}".rstrip("/")


def test_links_are_followed_by_any_spelling(disk: Path) -> None:
    (disk / "Link").symlink_to("users/me")
    assert true_path(f"{disk}/LINK/work") == f"{disk}/Users/Me/Work"
    assert spelled(f"{disk}/USERS") == f"{disk}/Users"


def test_a_file_with_two_names_keeps_the_one_that_is_meant(disk: Path) -> None:
    (disk / "Secret").write_text("x")
    os.link(disk / "Secret", disk / "Users" / "Alias")
    assert true_path(f"{disk}/users/ALIAS") == f"{disk}/Users/Alias"
    assert true_path(f"{disk}/secret") == f"{disk}/Secret"


def test_what_cannot_be_opened_is_found_by_the_names_of_its_folder(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(disk)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("Door")
        assert true_path(f"{disk}/dOOR") == f"{disk}/Door"
    # Whoever opened a pipe would wait for its writer.
    os.mkfifo(disk / "Pipe")
    assert true_path(f"{disk}/pipe") == f"{disk}/Pipe"


DOORS = """
import json, os, sys
from pathlib import Path
from switchboard.core.faults import Fault
from switchboard.ipc.paths import places_from
from switchboard.providers.commands.paths import PathFilter
from switchboard.sandbox.paths import is_led_through
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.repositories import guards
from switchboard.sandbox.roots import checked_roots
from switchboard.sandbox.seatbelt import seatbelt_profile
from switchboard.settings.consent.looking import resolved

disk = sys.argv[1]
true, other = f"{disk}/Users/Me", f"{disk}/users/me"


def refused(**more):
    policy = SandboxPolicy(cwd=f"{true}/Work", home=true, path="/usr/bin:/bin", **more)
    try:
        return seatbelt_profile(checked_roots(policy, "/bin/sh"), policy).parameters
    except Fault as fault:
        return fault.reason


def links(path):
    try:
        return len(guards(path, read_env_files=False))
    except Fault as fault:
        return fault.reason


print(json.dumps({
    "link": links(f"{true}/Linked"),
    "repositories": sorted(
        f"{each.kind} {os.path.relpath(each.path, true)}"
        for each in guards(f"{true}/Nested", read_env_files=False)
    ),
    "home as a root": refused(writable_roots=(other,)),
    "above the home as a root": refused(read_roots=(f"{disk}/USERS",)),
    "own folder hidden": refused(hidden=(f"{other}/own",), writable_roots=(f"{true}/OWN",)),
    "rules": sorted(
        path for path in refused(read_roots=(f"{other}/tools",)).values() if path.startswith(disk)
    ),
    "led": is_led_through(f"{other}/work/x", (f"{true}/Work",)),
    "filter": PathFilter(roots=(f"{other}/work",), user_home=true).allows(f"{true}/WORK/a"),
    "outside": PathFilter(roots=(f"{other}/work",), user_home=true).allows(f"{true}/WORKS/a"),
    "places": places_from({"HOME": other}).socket == places_from({"HOME": true}).socket,
    "consent": resolved(f"{other}/work"),
    "guards": sorted(
        f"{each.kind} {os.path.basename(each.path)}"
        for each in guards(f"{true}/Work", read_env_files=False)
    ),
}))
"""


def run(disk: Path, script: str, env: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script, str(disk)],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_fence_stands_whatever_the_spelling(tmp_path: Path) -> None:
    disk = tmp_path.resolve() / "Disk"
    for made in ("Users/Me/Work/.VSCode", "Users/Me/Own", "Users/Me/Tools"):
        (disk / made).mkdir(parents=True)
    # A long `s`, and one letter for two of them: the disk takes them for `.husky` and `.ssh`.
    (disk / "Users/Me/Work/.hu\u017fky").mkdir()
    (disk / "Users/Me/Work/.\u00dfh").mkdir()
    (disk / "Users/Me/Work/.ENV").write_text("KEY=canary")
    # A repository, and a link in place of settings, by other spellings than programs have.
    (disk / "Users/Me/Nested/inner/.Git").mkdir(parents=True)
    (disk / "Users/Me/Nested/inner/.Git/Config").write_text("url = https://u:canary@host/")
    (disk / "Users/Me/Nested/inner/.sometool").mkdir()
    (disk / "Users/Me/Linked").mkdir()
    (disk / "Users/Me/Linked/.VSCode").symlink_to(disk / "Users/Me/Tools")
    env = as_darwin(dict(os.environ), tmp_path, folding=disk)
    told = run(disk, DOORS, env)
    assert told["home as a root"] == "sandbox-root"
    assert told["above the home as a root"] == "sandbox-root"
    assert told["own folder hidden"] == "sandbox-root"
    users = f"{disk}/Users"
    assert {f"{users}/Me", f"{users}/Me/Tools", f"{users}/Me/Work"} <= {*told["rules"]}
    assert not [path for path in told["rules"] if path.startswith(f"{disk}/users")]
    assert told["led"]
    assert told["filter"]
    assert not told["outside"]
    assert told["places"]
    assert told["consent"] == f"{users}/Me/Work"
    assert told["link"] == "sandbox-link"
    assert told["repositories"] == [
        "hidden Nested/inner/.Git/Config",
        "pinned Nested/inner",
        "protected Nested/inner/.Git",
        "protected Nested/inner/.sometool",
    ]
    assert told["guards"] == [
        "hidden .ENV",
        "hidden .\u00dfh",
        "protected .VSCode",
        "protected .hu\u017fky",
    ]


def test_trust_and_boards_have_one_key_for_a_folder(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "Disk")
    place.echo_child()
    del place.env["SWITCHBOARD_TRUST_WORKSPACE"]
    env = as_darwin(place.env, tmp_path, folding=tmp_path / "Disk")
    other = str(place.root).replace("workspace", "WorkSpace")
    assert other != str(place.root)

    def switchboard(*words: str) -> Any:
        done = subprocess.run(
            place.command("--json", *words),
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    seen = switchboard("-C", str(place.root), "trust", "--list")["fingerprint"]
    switchboard("-C", str(place.root), "trust", "--all", "--fingerprint", seen)
    told = switchboard("-C", other, "trust", "--list")
    assert told["workspace"] == str(place.root)
    assert [each["state"] for each in told["entries"]] == ["trusted"]
