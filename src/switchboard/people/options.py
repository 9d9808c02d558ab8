"""How a team knows its people. Only the home may say."""

from msgspec import Struct

# Signatures that only the issuer can make. Those with a shared secret are not among them: whoever
# checks one could make one.
ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)


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

    @property
    def is_on(self) -> bool:
        """Whether people are told apart."""
        return bool(self.issuer)
