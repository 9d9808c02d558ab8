"""`switchboard state`: the database of a team, into which a home can be moved, and its tables."""

from typing import get_args

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.team.state_report import (
    LOG_STAYS,
    STAYS,
    StateMoveReport,
    StateUpgradeReport,
)
from switchboard.cli.verbs.parts.team.team_database import (
    DATABASE,
    named_database,
    team_database,
)
from switchboard.cli.verbs.parts.vault.input import passphrase_from
from switchboard.daemon.team.moving.moved import TO_DATABASE, TO_HOME, Kind
from switchkit.cli.usage import Option, Usage, UsageError, Word

_TEAM = "team"
_UPGRADE = f"{DATABASE}=postgresql://… switchboard state upgrade"
_BY_VARIABLE = f"{DATABASE}=postgresql://… switchboard state move --to {_TEAM}"

USAGE = Usage(
    verb="state",
    summary="Move the state of this home to the database of a team or back, or upgrade its tables.",
    words=(Word(name="ACTION", about="what to do", choices=("move", "upgrade")),),
    options=(
        Option(name="to", value="URL", about="take the state of this home into that PostgreSQL"),
        Option(name="from", value="URL", about="take the state of that team into this home"),
        Option(
            name="only",
            value="KIND",
            many=True,
            about=f"only this kind: {', '.join(f'`{kind}`' for kind in TO_DATABASE)}",
        ),
        Option(
            name="replace",
            about="from: what this home has otherwise gives way to that of the team",
        ),
        Option(name="db", value="URL", about="upgrade: the PostgreSQL of the team"),
        Option(name="dry-run", about="do everything but keep it, and say what it would come to"),
        Option(
            name="passphrase-fd",
            value="N",
            about="read the passphrase of the vault from this descriptor",
        ),
    ),
    details=(
        f"`{_TEAM}` in place of a URL means what {DATABASE} names. The secret of the team is taken"
        " from SWITCHBOARD_TEAM_KEY or SWITCHBOARD_TEAM_KEY_FILE. Pinned definitions, lasting rules"
        " and secrets with logins go both ways; the audit log goes into a chain of its own and does"
        " not come back. Nothing is taken away where it was. What is there already and the same is"
        " not moved again; anything else of that kind stops the move before it changes anything."
        " `upgrade` brings the tables of a team up to date; the first gateway of a new version does"
        " the same, as long as those of the version before can go on."
    ),
    examples=(
        "switchboard state move --to postgresql://sb@db.example/switchboard --dry-run",
        "switchboard state move --to team",
        "switchboard state move --from team --only secrets",
        "switchboard state upgrade",
    ),
)


def run(request: CommandRequest) -> Report:
    if request.arguments.word(0) == "upgrade":
        return _upgraded(request)
    arguments = request.arguments
    to, back = arguments.one("to"), arguments.one("from")
    if (to is None) == (back is None):
        raise UsageError("say where to: `--to URL`, or where from: `--from URL`", _BY_VARIABLE)
    dry_run, replace = arguments.has("dry-run"), arguments.has("replace")
    if replace and to is not None:
        raise UsageError(
            "`--replace` is for `--from`: what a team has does not give way to one home",
            "move into a database that no team uses yet",
        )
    given = to if to is not None else back or ""
    if given == _TEAM:
        given = request.environ.get(DATABASE, "")
        if not given:
            raise UsageError(f"`{_TEAM}` is what {DATABASE} names, and it is not set", _BY_VARIABLE)
    else:
        given = named_database(given, _BY_VARIABLE)
    kinds = _kinds(request, TO_HOME if to is None else TO_DATABASE)
    settings = settings_for(request)
    # Few have a team, and the driver of a database takes a while to load.
    from switchboard.daemon.team.moving.state_move import (  # noqa: PLC0415
        HomeState,
        move_to_database,
        move_to_home,
        team_state,
    )

    team = team_state(given, request.environ)
    home = HomeState(settings.home, settings.vault, passphrase_from(request))
    if to is None:
        done = move_to_home(home, team, kinds, replace=replace, dry_run=dry_run)
    else:
        done = move_to_database(home, team, kinds, dry_run=dry_run)
    return StateMoveReport(
        direction="to-home" if to is None else "to-database",
        home=settings.home,
        database=str(team.address),
        dry_run=dry_run,
        kinds=done.kinds,
        left=(*done.left, *((LOG_STAYS,) if to is None else ()), *STAYS),
    )


def _upgraded(request: CommandRequest) -> Report:
    for name in ("to", "from", "only", "replace", "dry-run", "passphrase-fd"):
        if request.arguments.has(name):
            raise UsageError(f"`--{name}` is for `move`", "switchboard state upgrade")
    given = team_database(request, _UPGRADE)
    if not given:
        raise UsageError("a team has a database, and here is none", _UPGRADE)
    # As above.
    from switchboard.daemon.team.upgrading import upgrade_tables  # noqa: PLC0415

    database, done = upgrade_tables(given)
    return StateUpgradeReport(database=database, done=tuple(done))


def _kinds(request: CommandRequest, possible: tuple[Kind, ...]) -> tuple[Kind, ...]:
    only = request.arguments.all("only")
    for kind in only:
        if kind not in get_args(Kind):
            raise UsageError(f"`{kind}` is no kind of state", f"--only {TO_DATABASE[0]}")
        if kind not in possible:
            raise UsageError(
                "the audit log of a team stays in its database",
                "switchboard audit export --out FILE",
            )
    return tuple(kind for kind in possible if not only or kind in only)
