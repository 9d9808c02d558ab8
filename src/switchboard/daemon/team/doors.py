"""How the people of a team are known."""

from collections.abc import Callable, Mapping

from switchboard.daemon.team.membership import Team
from switchboard.daemon.team.people_page.page_login import PageLogin
from switchboard.daemon.team.people_page.sealed import SealedCookies
from switchboard.daemon.team.people_page.site import PeoplePage
from switchboard.oauth.urls import checked_url
from switchboard.people.options import PeopleOptions
from switchboard.people.token_door import TokenDoor, address_rules
from switchboard.surface.http.access import Access


def open_page(
    people: Callable[[], PeopleOptions], door: TokenDoor | None, team: Team, access: Access
) -> PeoplePage | None:
    """Where people answer questions, if the issuer knows that page."""
    options = people()
    if door is None or not options.client_id:
        return None
    cookies = SealedCookies(team.page_key)
    login = PageLogin(options, door, cookies)
    return PeoplePage(login, cookies, team.approvals(), access, people)


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
