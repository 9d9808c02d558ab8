"""How much harm a call could do, from what it can do, and whether that needs a person.

A server's own annotations are claims of somebody we do not know. They can raise a risk. They lower
it in one case only: a tool that says that it only reads does not ask. What holds a server to that
word is the pin of its definition, and a user who does not believe it can say so for the server.

Whether a person has to agree (`must_ask`) and how it is graded for that person are two things: most
of what asks is of the medium grade, or the word would say nothing. The grades are in `grades`.
"""

from functools import lru_cache

from switchboard.approvals.grades import grade
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.origins import THE_USERS
from switchboard.core.privacy.orders import gives_orders
from switchboard.core.questions import Risk

ORDERS = "its description gives the model orders that you may not be meant to see"
SILENT = "the server does not say that this tool only reads"


def assess(launch: Launch) -> Risk:
    """The risk of a call, with a reason for each thing that raises it."""
    if launch.wish is not None:
        return Risk(level="high", reasons=(launch.wish.risk,))
    reasons = tuple(_of_a_server(launch) if launch.is_foreign else _of_a_command(launch))
    level, why = grade(launch, is_suspect=ORDERS in reasons, must_ask=bool(reasons))
    return Risk(level=level, reasons=(*reasons, *why), must_ask=bool(reasons))


def asks(launch: Launch, risk: Risk) -> bool:
    """Whether a person has to agree."""
    if risk.must_ask:
        return True
    if launch.requires_approval is True:
        return True
    if launch.tool.effects.only_reads:
        return False
    return not (launch.requires_approval is False and launch.required_by in THE_USERS)


def is_open_world(launch: Launch) -> bool:
    """Whether a result may hold the words of a stranger. A permission has no result."""
    if launch.wish is not None and launch.wish.is_permission:
        return False
    open_world = launch.tool.effects.open_world
    if launch.is_foreign and launch.wish is None:
        # A server that does not say is one of the open world, as the protocol has it.
        return open_world is not False
    return open_world is True or "network" in launch.side_effects


def may_last(launch: Launch) -> bool:
    """Whether a lasting rule may answer for a tool: one that is silent about itself.

    All others are asked about in each session, whatever the user wrote down: for each call, or for
    all calls of that tool until the session ends, if the answer says so.
    """
    return not why_not_lasting(launch)


def why_not_lasting(launch: Launch) -> str:
    """What keeps a lasting rule from answering for a tool; nothing where it may.

    What is declared to write, to destroy or to use the network, and what runs with the sandbox
    profile `none` by the user's own configuration.
    """
    if launch.wish is not None:
        return launch.wish.risk
    reasons = _of_a_server(launch) if launch.is_foreign else _of_a_command(launch)
    effects = launch.tool.effects
    if effects.read_only is False:
        reasons.append("it is declared to change things")
    if effects.destructive is True:
        reasons.append("it is declared to destroy things")
    if effects.open_world:
        says = "the server says that this tool reaches" if launch.is_foreign else "it reaches"
        reasons.append(f"{says} the open world")
    if launch.is_foreign and launch.declares_network:
        reasons.append("its entry gives it a network")
    return next((each for each in reasons if each != SILENT), "")


def _of_a_server(launch: Launch) -> list[str]:
    effects = launch.tool.effects
    if not launch.trusts_annotations:
        return ["what this server says of its tools does not count here"]
    if is_ordering(launch.tool):
        return [ORDERS]
    if effects.only_reads:
        return []
    if effects.destructive is True:
        return ["the server says that this tool can destroy things"]
    if effects.read_only is False:
        return ["the server says that this tool changes things"]
    return [SILENT]


# By the very definition, which a server has until it changes it: to read it takes a third of what a
# call takes in all.
@lru_cache(maxsize=1_024)
def is_ordering(tool: ToolSpec) -> bool:
    """Whether what a tool says of itself gives a model orders."""
    schema = bytes(tool.input_schema).decode("utf-8", "replace")
    return gives_orders(f"{tool.title}\n{tool.description}") or gives_orders(schema)


def _of_a_command(launch: Launch) -> list[str]:
    reasons: list[str] = []
    if "filesystem-write" in launch.side_effects:
        reasons.append("it is declared to write files")
    if launch.opened_roots:
        reasons.append("folders are opened for it to write in")
    if "network" in launch.side_effects:
        reasons.append("it is declared to use the network")
    if launch.network:
        reasons.append("it may use the network")
    if launch.sandbox == "none":
        reasons.append("it runs without a sandbox")
    if launch.tool.effects.destructive is True:
        reasons.append("it is declared to destroy things")
    return reasons
