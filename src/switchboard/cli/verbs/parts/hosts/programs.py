"""What the programs of hosts say of themselves."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from msgspec.structs import replace

from switchboard.cli.printer import Talk
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.found import FoundHostFile
from switchboard.hosts.host import Host
from switchboard.hosts.places import HostRoots, variables_of
from switchboard.procs.trial import trial

_VERSION_S = 10.0
# A host connects to every server that it has before it lists them.
_LISTING_S = 30.0


def version_of(program: str, environ: Mapping[str, str]) -> str:
    """The version of a program; nothing where it does not say."""
    try:
        return trial((program, "--version"), timeout_s=_VERSION_S, env=environ).stdout
    except OSError:
        return ""


def those_listing_us(
    files: Sequence[FoundHostFile], roots: HostRoots, talk: Talk
) -> dict[str, bool | None]:
    """What each of these hosts answers, asked all at once. Somebody sees whom it waits for."""
    path = roots.environ.get("PATH")
    asked = [
        each
        for each in files
        if each.file.scope == "user"
        and each.host.lists
        and shutil.which(each.host.lists[0], path=path)
    ]
    if not asked:
        return {}
    found: dict[str, bool | None] = {}
    with ThreadPoolExecutor(len(asked)) as side_by_side:
        answers = {side_by_side.submit(lists_us, each, roots): each.host for each in asked}
        talk.step(f"asking {_titles(answers.values())} whether Switchboard is on the list")
        for answer in as_completed(answers):
            found[answers.pop(answer).id] = answer.result()
            if answers:
                talk.step(f"waiting for {_titles(answers.values())}", is_passing=True)
    talk.clear()
    return found


def _titles(hosts: Iterable[Host]) -> str:
    return ", ".join(each.title for each in hosts)


def lists_us(file: FoundHostFile, roots: HostRoots) -> bool | None:
    """Whether a host with a list names us on it; nothing where it cannot be asked.

    It is asked in a home of its own, with a copy of its file: hosts write into their files whenever
    they run, and then `revert` could not put back what was there.
    """
    with tempfile.TemporaryDirectory(prefix="switchboard-") as folder:
        leading = variables_of(file.file)
        environ = {key: text for key, text in roots.environ.items() if key not in leading}
        there = replace(roots, user_home=folder, environ=environ).path_of(file.file)
        # Our own server need not run to be listed: here it finds no home that it could use.
        no_home = os.path.join(folder, "no-home")
        try:
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copyfile(file.path, there)
            shutil.copyfile(os.devnull, no_home)
            env = {**environ, "HOME": folder, "SWITCHBOARD_HOME": no_home}
            found = trial(file.host.lists, timeout_s=_LISTING_S, env=env)
        except OSError:
            # The host is known by its file alone.
            return None
    if OUR_NAME in found.stdout + found.stderr:
        return True
    # A program that fails has not looked: it may miss something that its user's home has.
    return False if found.status == 0 else None
