"""How a team knows its people. Only the home may say."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from switchboard.core.people import Person

# Signatures that only the issuer can make. Those with a shared secret are not among them: whoever
# checks one could make one.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)


class GroupRule(Struct, frozen=True, kw_only=True):
    """What the people of a group see, and whose yes counts for them."""

    # Names of tools, as `[tools]` has them.
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    # Tools of servers, as `server.tool`, with `*` for any letters.
    server_tools: tuple[str, ...] | None = None
    hidden_server_tools: tuple[str, ...] = ()
    # As the key of that name outside of all tables.
    approval_channel: Literal["any", "console", "none"] | None = None
    # The groups whose questions its people may answer; `*` stands for all.
    approves_for: tuple[str, ...] = ()


# The name of the rule for everybody.
EVERY_GROUP = "*"


class PeopleOptions(Struct, frozen=True, kw_only=True):
    """Who gives tokens, what has to be in them, and what is read from them."""

    # Empty where the one token of the team is all there is.
    issuer: str = ""
    # Our own address, as clients know it: tokens have to be for it.
    resource: str = ""
    # Other names of ours that tokens may be for.
    audience: tuple[str, ...] = ()
    # Where the keys of the issuer are; empty for where it says itself.
    jwks_url: str = ""
    algorithms: tuple[str, ...] = ALGORITHMS
    # What a token has to be good for, beside being for us.
    scopes: tuple[str, ...] = ()
    subject_claim: str = "sub"
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    # Nobody else is let in; empty for everybody whom the issuer gives a token for us.
    required_group: str = ""
    # Seconds by which the clock of the issuer may be off.
    clock_skew: int = 60
    # Whether the one token of the team lets somebody in, too.
    shared_token: bool = False
    # What the issuer knows the page of the gateways as; empty where there is none.
    client_id: str = ""
    groups: dict[str, GroupRule] = {}

    @property
    def is_on(self) -> bool:
        """Whether people are told apart."""
        return bool(self.issuer)

    def rules_of(self, person: Person) -> Iterator[GroupRule]:
        """Those of everybody, and those of the groups of a person."""
        for name in sorted({EVERY_GROUP, *person.groups} & self.groups.keys()):
            yield self.groups[name]

    def may_answer(self, person: Person, asked_of: str, groups: tuple[str, ...]) -> bool:
        """Whether a person may see and answer what is asked of somebody in these groups."""
        if person.key == asked_of:
            return True
        known = {EVERY_GROUP, *groups}
        return any(not known.isdisjoint(rule.approves_for) for rule in self.rules_of(person))
