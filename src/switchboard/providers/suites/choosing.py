"""Which of several children a suite call is for: one of an account, or one of a worktree."""

from msgspec.structs import replace

from switchboard.children.server_launches import ServerLaunches
from switchboard.children.trees.faults import follows_nobody
from switchboard.children.trees.tree_choice import placed
from switchboard.core.calls.call import EMPTY_OBJECT, Call
from switchboard.core.sessions import Session
from switchboard.providers.suites.arguments import SuiteArguments
from switchboard.providers.suites.suite import Suite


async def chosen(suite: Suite, call: Call, arguments: SuiteArguments | None = None) -> Call:
    """The call with the account that it uses, or the worktree that it is about. Raises a fault.

    From here on it has one, whatever becomes of the repository meanwhile.
    """
    accounts, trees = suite.children.accounts, suite.children.trees
    named = arguments.worktree if arguments is not None else ""
    if trees is not None:
        # Of an introspection nothing is a path.
        is_call = arguments is not None and arguments.action == "call"
        paths = arguments.args if arguments is not None and is_call else EMPTY_OBJECT
        return await placed(call, trees, paths, named=named)
    if named or call.session.worktree:
        raise follows_nobody(suite.spec.name)
    if accounts is None:
        return call
    account = accounts.choose(call.session)
    return replace(call, session=replace(call.session, account=account))


def chosen_launches(suite: Suite, session: Session) -> ServerLaunches:
    """What the tools of a suite launch, for a call that was chosen for. Raises a fault."""
    if session.account is not None:
        return suite.launches.of_account(session.account)
    if suite.children.trees is not None:
        return suite.children.trees.launches(session, suite.launches)
    return suite.launches
