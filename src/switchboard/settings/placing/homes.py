"""Which home counts. What a repository could have written must not choose what runs without trust.

A client's project file can set variables and options of the programs that it starts, so that
neither says by itself that the user wants it.
"""

import os
import stat

from switchboard.config.locate import Places, home_files
from switchboard.config.problems import Problem
from switchboard.core.origins import Scope
from switchboard.settings.consent.trust_record import TrustRecord
from switchkit.commands import lies_in
from switchkit.files import NotPrivate, check_unforgeable

TRUST_VARIABLE = "SWITCHBOARD_TRUST_WORKSPACE"


def check_homes(places: Places, problems: list[Problem]) -> None:
    """Say of each home whether somebody else could have written what is in it."""
    for name, home in (("SWITCHBOARD_HOME", places.home), ("AGH_HOME", places.agh_home)):
        if not _is_users(places) and lies_in(home, places.workspace):
            problems.append(
                Problem(
                    path=home,
                    message=f"`{name}` leads into the workspace, which would then choose what runs",
                    hint="name a folder outside of the workspace, or none",
                )
            )

    for path in (places.home, places.agh_home, *(file.path for file in home_files(places))):
        try:
            if not _is_sticky(path):
                check_unforgeable(path)
        except NotPrivate as refused:
            problems.append(
                Problem(
                    path=path,
                    message=f"it {refused.why}, who would choose what runs",
                    hint=f"look at it, then close it to them: chmod go-w {path}",
                )
            )
        except OSError:
            # There is none.
            continue


def _is_sticky(path: str) -> bool:
    """Whether others may add files to a folder of ours, but touch none of those that are there.

    What they add is not ours, and found out by itself.
    """
    found = os.stat(path)
    mine = found.st_uid in {os.getuid(), 0}
    return stat.S_ISDIR(found.st_mode) and mine and bool(found.st_mode & stat.S_ISVTX)


def scope_of_given(path: str, places: Places) -> Scope:
    """Whose word a file is that `--config` names: that of the workspace if it lies there."""
    own = _is_users(places) or lies_in(path, places.home)
    return Scope.FLAG if own or not lies_in(path, places.workspace) else Scope.WORKSPACE


def trusts_everything(
    is_asked: bool, is_allowed: bool, record: TrustRecord, places: Places, problems: list[Problem]
) -> bool:
    """Whether everything is trusted without a question, as in a container.

    A home that somebody has settled in is no container: there a variable alone, which a client's
    project file can set, does not say that its user wants this.
    """
    if not is_asked or is_allowed:
        return is_asked
    if any(os.path.lexists(file.path) for file in home_files(places)):
        why = "this home has settings of its own"
    elif not record.knows_only(places.workspace):
        why = "in this home other folders were trusted one by one"
    else:
        return True
    problems.append(
        Problem(
            path=str(Scope.ENVIRONMENT),
            key=TRUST_VARIABLE,
            message=f"it is ignored: {why}",
            hint="switchboard trust; or `trust_variable = true` in the `config.toml` of your home",
            severity="warning",
        )
    )
    return False


def _is_users(places: Places) -> bool:
    """Whether the home of the user lies in the workspace: what is there is the user's own."""
    return lies_in(places.user_home, places.workspace)
