"""What gateways of a team call a server among themselves."""

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry, known_to_team


def test_servers_of_people_and_accounts_are_told_apart() -> None:
    entry = ServerEntry(name="notes", transport="stdio", per_person=True)
    whose = [entry, replace(entry, person="ada"), replace(entry, person="bob")]
    names = [known_to_team(each) for each in (*whose, replace(whose[1], account="work"))]
    # Else one would be told what another follows, and when it changes.
    assert len(set(names)) == len(names)
