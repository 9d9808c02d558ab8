"""How the people of a team are known."""

from collections.abc import Mapping

from switchboard.oauth.urls import checked_url
from switchboard.people.options import PeopleOptions
from switchboard.people.token_door import TokenDoor, address_rules


def open_door(people: PeopleOptions, environ: Mapping[str, str]) -> TokenDoor | None:
    """Who lets people in by tokens of their own, where that is configured. Raises a fault.

    Nobody is asked anything yet: an issuer that is away keeps no gateway from starting.
    """
    if not people.is_on:
        return None
    rules = address_rules(people)
    checked_url(people.issuer, "`issuer` in `[people]`", rules)
    if people.jwks_url:
        checked_url(people.jwks_url, "`jwks_url` in `[people]`", rules)
    return TokenDoor(people, environ)
