"""What `switchboard state move` answers."""

from collections.abc import Iterator
from typing import Literal

from switchboard.cli.render import hint
from switchboard.cli.report import Report
from switchboard.daemon.team.moving.moved import WORDS, LeftBehind, MovedKind
from switchkit.cli.columns import columns
from switchkit.cli.style import Style

# Of every home and every database.
STAYS = (
    LeftBehind(what="questions", why="they belong to sessions of one side"),
    LeftBehind(what="runs of agents", why="their conversations lie with the engines of a machine"),
    LeftBehind(what="results that nobody has got", why="only their own clients may have them"),
    LeftBehind(what="counts of use", why="they are those of one home"),
    LeftBehind(what="configuration and trust", why="they are files, and for you to copy"),
)
LOG_STAYS = LeftBehind(
    what="audit records of the team", why="this home has its own log, and nothing is put into it"
)


class StateMoveReport(Report, frozen=True, kw_only=True, tag="switchboard.state-move/1"):
    """What was taken over, kind by kind, and what stayed where it was."""

    direction: Literal["to-database", "to-home"]
    home: str
    # Without its password.
    database: str
    # Nothing was changed: this is what would have been.
    dry_run: bool = False
    kinds: tuple[MovedKind, ...]
    left: tuple[LeftBehind, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        rows = [
            (WORDS[each.kind], str(each.count), _words(each, is_done=not self.dry_run))
            for each in self.kinds
        ]
        yield from columns(rows)
        yield ""
        for each in self.left:
            yield style.dim(f"not moved: {each.what}; {each.why}")

    def notes(self, style: Style) -> Iterator[str]:
        target = self.database if self.direction == "to-database" else self.home
        if self.dry_run:
            yield "nothing was changed: that is what would be done"
            yield hint(style, "the same without --dry-run")
            return
        yield f"all of it was read back from {target} and is the same"
        if self.direction == "to-database":
            yield (
                "this home still has everything. Do not use it beside the team: of a login that"
                " both renew, one is lost"
            )
            yield hint(style, "SWITCHBOARD_DB=… switchboard audit verify")
        else:
            yield "the database still has everything"
            yield hint(style, "switchboard daemon start")


class StateUpgradeReport(Report, frozen=True, kw_only=True, tag="switchboard.state-upgrade/1"):
    """What was done to the tables of a team."""

    # Without its password.
    database: str
    # The part, and its versions before and after.
    done: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield from self.done or ("the tables are up to date",)


def _words(moved: MovedKind, *, is_done: bool) -> str:
    done = "" if is_done else "would be "
    said = [f"{moved.added} {done}moved"] if moved.added else []
    said += [f"{moved.same} there already"] if moved.same else []
    said += [f"{moved.replaced} of this home {done}taken out"] if moved.replaced else []
    said += [f"chain {moved.chain}"] if moved.chain else []
    return ", ".join(said) or "nothing to move"
