"""What we wrote into files of hosts, taken back."""

import os
import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.cli.render import hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.plan import every_host, host_roots
from switchboard.cli.verbs.parts.loading import places_for
from switchboard.cli.verbs.parts.trusting.consent import check_consent
from switchboard.cli.verbs.parts.vault.place import vault_of
from switchboard.hosts.applying import Reverted, revert, write_unrecorded
from switchboard.hosts.change import OUR_NAME, FileChange, changed, is_our_entry
from switchboard.hosts.edits.edit import decoded, read_tree
from switchboard.hosts.found import servers_at
from switchboard.hosts.record import HostRecord, Written, digest_of_file
from switchkit.cli.style import Style, is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import UsageError

_GOES = " (was not there before: it is removed)"


class RevertedFile(Struct, frozen=True, kw_only=True):
    """One file, and how it was put back."""

    host: str
    file: str
    # `whole`, `gone`, `parts`, `removed` or `kept`; of a dry run `planned`, or `going` where the
    # file would be removed.
    how: str
    reason: str = ""


class RevertReport(Report, frozen=True, kw_only=True, tag="switchboard.revert/1"):
    """What was put back, or would be."""

    dry_run: bool
    files: tuple[RevertedFile, ...]
    # Where the secrets are that have moved: they stay there.
    vault: str = ""

    def exit_code(self) -> int:
        return FAILED if any(each.how == "kept" for each in self.files) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.files:
            told = _WORDS[each.how].format(style.paths(each.file))
            yield f"{told}: {each.reason}" if each.reason else told

    def notes(self, style: Style) -> Iterator[str]:
        if not self.files:
            yield "nothing of ours is in the files of hosts"
        elif any(each.how in {"whole", "gone", "parts", "removed"} for each in self.files):
            yield hint(style, "restart your hosts")
            if self.vault:
                words = "the secrets that have moved stay in the vault: switchboard vault list"
                yield hint(style, words)


_WORDS = {
    "whole": "put back {}, byte for byte",
    "gone": "removed {}, which was not there before",
    "parts": "took our part out of {}: somebody has written into it since",
    "planned": "would put back {}",
    "going": "would remove {}, which was not there before",
    "kept": "could not put back {}",
    "removed": "took the entry of Switchboard out of {}",
}


def take_back(
    request: CommandRequest,
    hosts: Sequence[str] = (),
    *,
    asks: bool = True,
    # Also entries of ours that somebody else has written.
    is_leaving: bool = False,
) -> RevertReport:
    """Put back the files of these hosts, or of all, after a yes."""
    is_dry = request.arguments.has("dry-run")
    home = places_for(request).home
    with HostRecord(home) as record:
        ours = [each.place for each in record.written if not hosts or each.place.host in hosts]
        known = {each.target for each in ours}
        strays = [each.place for each in _strays(request, hosts)] if is_leaving else []
        places = [*ours, *(each for each in strays if each.target not in known)]
        going = _going(record)
        if is_dry or not places:
            planned = [
                RevertedFile(
                    host=each.host,
                    file=each.path,
                    how="going" if each.path in going else "planned",
                )
                for each in reversed(places)
            ]
            return RevertReport(dry_run=is_dry, files=_once(planned))
        if asks:
            paths = [f"{each.path}{_GOES if each.path in going else ''}" for each in places]
            confirm(request, paths, "Put these files back as they were?")
        files = [*map(_reverted, revert(record, hosts))]
        # Looked for again: what is taken back by the record is gone by now.
        if is_leaving:
            files += map(_without_stray, _strays(request, hosts))
        return RevertReport(dry_run=False, files=_once(files), vault=vault_of(home))


def _going(record: HostRecord) -> set[str]:
    """The files that were not there before us, and that nobody else has written into."""
    first: dict[str, Written] = {}
    last: dict[str, Written] = {}
    for each in record.written:
        first.setdefault(each.place.path, each)
        last[each.place.path] = each
    return {
        path
        for path, each in last.items()
        if not first[path].before and digest_of_file(each.place.target) == each.after
    }


def _once(files: Sequence[RevertedFile]) -> tuple[RevertedFile, ...]:
    """Each file once, as it is in the end: several changes of one are taken back in turn."""
    return tuple({each.file: each for each in files}.values())


def _reverted(each: Reverted) -> RevertedFile:
    is_gone = each.how == "whole" and not os.path.lexists(each.path)
    how = "gone" if is_gone else each.how
    return RevertedFile(host=each.host, file=each.path, how=how, reason=each.reason)


def _strays(request: CommandRequest, hosts: Sequence[str]) -> Iterator[FileChange]:
    """Files of users that have an entry of ours, without it."""
    for host in every_host(host_roots(request, places_for(request))):
        if hosts and host.host.id not in hosts:
            continue
        for file in host.files:
            if file.file.scope != "user" or file.raw is None or file.problem:
                continue
            tree = read_tree(decoded(file.raw), file.file.form)
            if is_our_entry(servers_at(tree, file.file.servers).get(OUR_NAME)):
                yield changed(file.place, file.raw, {}, (OUR_NAME,))


def _without_stray(change: FileChange) -> RevertedFile:
    place = change.place
    reason = write_unrecorded(change)
    return RevertedFile(
        host=place.host, file=place.path, how="kept" if reason else "removed", reason=reason
    )


def confirm(request: CommandRequest, paths: Sequence[str], question: str) -> None:
    """Raise unless a person who sees these paths says yes."""
    check_consent(request)
    if request.arguments.has("yes"):
        return
    if not is_terminal(sys.stdin):
        raise UsageError(
            "without a terminal nobody can be asked", "look with `--dry-run`, then say `--yes`"
        )
    for path in dict.fromkeys(paths):
        request.talk.say(request.talk.style.paths(path))
    ask_at_terminal(f"\n{question} [y/N] ")
    if not says_yes():
        raise UsageError("nothing was changed")
