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
from switchboard.settings.placing.foreign_home import on_foreign_disk
from switchkit.commands import lies_in
from switchkit.files import NotPrivate, check_unforgeable
from switchkit.git.ground import ground_of, repository_of
from switchkit.platform.paths import true_path

TRUST_VARIABLE = "SWITCHBOARD_TRUST_WORKSPACE"


def check_homes(places: Places, problems: list[Problem]) -> None:
    """Say of each home whether somebody else could have written what is in it."""
    for name, home in (("SWITCHBOARD_HOME", places.home), ("AGH_HOME", places.agh_home)):
        if whose := _whose(home, places):
            problems.append(
                Problem(
                    path=home,
                    message=f"`{name}` leads into {whose}, which would then choose what runs",
                    hint=f"name a folder outside of {whose}, or none",
                )
            )
    if (foreign := on_foreign_disk(places.home)) is not None:
        problems.append(foreign)
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


def whose_given(path: str, places: Places) -> tuple[Scope, str]:
    """Whose word a file is that `--config` names, and which folder its links may not leave.

    That of the workspace if it lies there, or in the repository around it.
    """
    own = _is_users(places) or lies_in(path, places.home)
    for folder in () if own else (places.workspace, ground_of(places.workspace, places.user_home)):
        if lies_in(path, folder):
            return Scope.WORKSPACE, folder
    return Scope.FLAG, ""


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


def _whose(home: str, places: Places) -> str:
    """What else a home is a part of; nothing where it is the user's own.

    A clone is larger than the folder of it that is opened, and a client's project file also says
    which folder that is.
    """
    if _is_users(places):
        return ""
    if lies_in(home, places.workspace):
        return "the workspace"
    real = true_path(home)
    usual = (os.path.join(places.user_home, each) for each in (".switchboard", ".agh"))
    is_usual = real in map(true_path, usual)
    return "a repository" if not is_usual and repository_of(home, places.user_home) else ""


def _is_users(places: Places) -> bool:
    """Whether the home of the user lies in the workspace: what is there is the user's own."""
    return lies_in(places.user_home, places.workspace)
