"""`switchboard init`: prepare a workspace. Nothing that exists is changed."""

import os
import shlex
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from switchboard.cli.render import hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.here import HostHere, known_hosts
from switchboard.cli.verbs.parts.importing.foreign_servers import (
    ImportedServer,
    UnreadFile,
    candidates,
    planned,
    take_over,
)
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.cli.verbs.parts.trusting.consent import TrustOffer, why_no_consent, write_down
from switchboard.config.writing import refuse_linked_folders
from switchboard.settings.consent.own_folder import not_ones_own
from switchboard.settings.consent.trust_record import folder_now, read_trust
from switchboard.settings.trust import trust_folder
from switchboard.settings.writing.first_config import write_config
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage

USAGE = Usage(
    verb="init",
    summary="Prepare this workspace, and say what is left to do.",
    options=(
        Option(name="import", about="take over the servers that other clients keep here"),
        Option(name="dry-run", about="say what would be done, and do nothing"),
    ),
    details=(
        "Writes .switchboard/config.toml. With --import the servers of .mcp.json,\n"
        ".vscode/mcp.json and .cursor/mcp.json are copied into .switchboard/mcp.json, and into\n"
        "config.toml where variables are filled in; those files stay as they are. Nothing that\n"
        "exists is overwritten.\n"
        "A folder that you have made yourself is trusted from then on: your servers may start\n"
        "in it. One that was cloned, or that others can write, waits for `switchboard trust`."
    ),
    examples=("switchboard init", "switchboard init --import --dry-run"),
)

_TRUST = "switchboard trust --folder"


class Step(Struct, frozen=True, kw_only=True):
    """A file, and what became of it."""

    path: str
    state: Literal["written", "kept", "planned"]


class InitReport(Report, frozen=True, kw_only=True, tag="switchboard.init/2"):
    """What was prepared, and what remains to be done."""

    workspace: str
    dry_run: bool
    files: tuple[Step, ...]
    imported: tuple[ImportedServer, ...]
    # Files of other clients that cannot be read.
    unread: tuple[UnreadFile, ...] = ()
    # Servers of other clients that `--import` would take over.
    importable: int
    # The hosts of this machine.
    hosts: tuple[HostHere, ...] = ()
    # Whether your own servers may start in the folder, and what speaks against it.
    folder_trusted: bool = False
    folder_reason: str = ""
    # Whether there are servers here by now, and those among them that wait for trust.
    has_servers: bool = False
    waiting: tuple[str, ...] = ()

    def exit_code(self) -> int:
        return FAILED if self.unread else DONE

    def lines(self, style: Style) -> Iterator[str]:
        del style
        words = {"written": "wrote", "kept": "kept", "planned": "would write"}
        for step in self.files:
            yield f"{words[step.state]} {step.path}"
        for server in self.imported:
            yield from _imported_lines(server, "would copy" if self.dry_run else "copied")
        for unread in self.unread:
            yield f"left {unread.file} as a whole: {unread.reason}"
        if self.folder_trusted:
            yield "trusted this folder: your own servers may start in it"

    def notes(self, style: Style) -> Iterator[str]:
        """What remains to be done, in the order in which it is done."""
        yield ""
        if not self.folder_trusted and self.folder_reason:
            yield hint(style, f"{self.folder_reason}; to let your servers start in it: {_TRUST}")
        if self.importable and not self.imported:
            yield hint(style, "other clients keep servers here: switchboard init --import")
        elif (copied := [each for each in self.imported if not each.reason]) and not self.dry_run:
            files = ", ".join(dict.fromkeys(each.file for each in copied))
            names = ", ".join(each.name for each in copied)
            yield f"the clients of {files} still start these servers themselves: {names}"
            yield hint(style, f"remove them from {files}")
        if self.waiting:
            names = shlex.join(self.waiting) if len(self.waiting) == 1 else "--all"
            yield hint(style, f"look at what would run, then: switchboard trust {names}")
        elif not self.has_servers and not self.importable:
            yield hint(style, "switchboard add NAME -- COMMAND")
        if without := [each.title for each in self.hosts if not each.has_us]:
            names = ", ".join(without)
            yield hint(
                style, f"to put the servers of {names} behind Switchboard: switchboard setup"
            )
        elif not self.hosts:
            yield hint(style, "no host was found; to make one know us: switchboard install HOST")


def _imported_lines(server: ImportedServer, verb: str) -> Iterator[str]:
    if server.reason:
        yield f"left {server.name} in {server.file}: {server.reason}"
        return
    yield f"{verb} {server.name} from {server.file}"
    if server.into == "config.toml":
        yield "  into .switchboard/config.toml, which fills in its variables"
    if server.needs_workspace:
        yield f'  with `start_in = "workspace"`: {server.needs_workspace}'
    yield from (f"  {remark}" for remark in server.remarks)


def run(request: CommandRequest) -> Report:
    check_home(request)
    places = places_for(request)
    dry_run = request.arguments.has("dry-run")
    folder = os.path.join(places.workspace, ".switchboard")
    config = os.path.join(folder, "config.toml")
    found, unread = candidates(places.workspace, request.environ)
    # Read before anything is written: a broken configuration is told first.
    taken = {entry.name for entry in entries(settings_for(request))}
    refuse_linked_folders(config, places.workspace)
    reason = not_ones_own(places.workspace)
    files = [_write(config, dry_run=dry_run)]
    imported: list[ImportedServer] = []
    is_importing = request.arguments.has("import")
    for candidate in found if is_importing else ():
        imported.append(
            planned(candidate, taken) if dry_run else take_over(candidate, folder, taken)
        )
        if not candidate.reason:
            taken.add(candidate.name)
    if not reason and not dry_run:
        reason = why_no_consent(request)
    if not reason and not dry_run:
        folder = folder_now(places.workspace)
        write_down(
            places.home, TrustOffer(workspace=places.workspace, folder=folder), "approved", "init"
        )
        trust_folder(places.home, places.workspace, identity=folder)
    settings = settings_for(request, trust_workspace="0")
    return InitReport(
        workspace=places.workspace,
        dry_run=dry_run,
        folder_trusted=not dry_run and read_trust(places.home, []).trusts_folder(places.workspace),
        folder_reason=reason,
        files=tuple(
            Step(path=os.path.relpath(step.path, places.workspace), state=step.state)
            for step in files
        ),
        imported=tuple(imported),
        # They matter only to who wants to import them.
        unread=tuple(unread) if is_importing else (),
        importable=sum(not candidate.reason for candidate in found),
        hosts=tuple(known_hosts(request, places)),
        has_servers=any(entries(settings)),
        waiting=tuple(entry.name for entry in settings.untrusted),
    )


def _write(path: str, *, dry_run: bool) -> Step:
    if os.path.lexists(path):
        return Step(path=path, state="kept")
    if dry_run:
        return Step(path=path, state="planned")
    write_config(path, "workspace")
    return Step(path=path, state="written")
