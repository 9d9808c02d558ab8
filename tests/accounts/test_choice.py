"""Which account a request uses."""

from pathlib import Path

import pytest

from switchboard.children.accounts.choice import AccountChoice
from switchboard.children.accounts.patterns import pattern_of
from switchboard.children.schema import Account, ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import ChosenAccount, Session

HOME = "/home/ada"


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        (
            "remote:github.com/acme/*",
            ["github.com/acme/web"],
            ["github.com/acme", "github.com/acme/a/b", "github.com/acmex/a", "x.github.com/acme/a"],
        ),
        ("remote:a.b/acme/**", ["a.b/acme/a/b", "a.b/acme"], ["a.b/acmex"]),
        ("remote:GitHub.com/Acme/Web.git", ["github.com/acme/web"], ["github.com/acme/web2"]),
        ("remote:*/acme/*", ["a.b/acme/web"], ["a.b/c/acme/web"]),
        ("remote:a.b/**/web", ["a.b/web", "a.b/c/d/web"], ["a.b/xweb"]),
        ("remote:a.b/c?", [], ["a.b/cd"]),
        ("dir:~/x/**", ["/home/ada/x", "/home/ada/x/a/b"], ["/home/ada/x2", "/home/ada"]),
        ("dir:~/acme/*", ["/home/ada/acme/a"], ["/home/ada/acme", "/home/ada/acme/a/b"]),
        ("dir:~/acme-*/", ["/home/ada/acme-1"], ["/home/ada/acme"]),
        ("dir:/srv/a/", ["/srv/a"], ["/srv/a/b"]),
        ("dir:~", ["/home/ada"], ["/home/ada/x"]),
        ("dir:/**", ["/", "/x/y"], [""]),
    ],
)
def test_a_pattern_fits_what_is_meant(pattern: str, fits: list[str], fits_not: list[str]) -> None:
    found = pattern_of(pattern, HOME)
    assert [each for each in [*fits, *fits_not] if found.fits(each)] == fits


class Ground:
    """A home with a repository, and the accounts of a server."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home"
        self.workspace = self.home / "acme" / "web"
        self.workspace.mkdir(parents=True)

    def remote(self, url: str) -> None:
        git = self.workspace / ".git"
        git.mkdir(exist_ok=True)
        (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')

    def choose(self, *accounts: Account, named: ChosenAccount | None = None) -> ChosenAccount:
        entry = ServerEntry(name="github", transport="http", url="https://x/mcp", accounts=accounts)
        session = Session(id="1", via="test", workspace=str(self.workspace), account=named)
        return AccountChoice(entry, str(self.home)).choose(session)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def account(name: str, *match: str, default: bool = False) -> Account:
    return Account(name=name, match=match, default=default)


def test_the_remote_decides_and_the_default_is_for_the_rest(ground: Ground) -> None:
    accounts = account("work", "remote:github.com/acme/*"), account("me", default=True)
    assert ground.choose(*accounts) == ChosenAccount("me", "it is the default")
    ground.remote("git@github.com:acme/web.git")
    chosen = ground.choose(*accounts)
    assert chosen == ChosenAccount("work", "`remote:github.com/acme/*` matches")
    # Looked at anew: nothing of a repository is remembered.
    ground.remote("https://github.com/ada/web")
    assert ground.choose(*accounts).name == "me"


def test_a_folder_outranks_a_remote_and_the_longer_pattern_the_shorter(ground: Ground) -> None:
    ground.remote("git@github.com:acme/web.git")
    by_folder = account("folder", "dir:~/**")
    assert ground.choose(account("work", "remote:github.com/acme/web"), by_folder).name == "folder"
    assert ground.choose(account("work", "dir:~/acme/**"), by_folder).name == "work"
    broad, narrow = account("a", "remote:github.com/**"), account("b", "remote:github.com/acme/*")
    assert ground.choose(broad, narrow).name == "b"
    exact = account("c", "remote:github.com/acme/web")
    wider = account("d", "remote:github.com/acme/web*")
    assert ground.choose(exact, wider).name == ground.choose(wider, exact).name == "c"


def test_two_that_say_as_much_are_no_choice(ground: Ground) -> None:
    ground.remote("git@github.com:acme/web.git")
    one, other = account("a", "remote:github.com/acme/*"), account("b", "remote:github.com/acme/*b")
    with pytest.raises(Fault) as fault:
        ground.choose(one, other, account("me", default=True))
    assert (fault.value.code, fault.value.reason) == (
        FaultCode.FAILED_PRECONDITION,
        "account-ambiguous",
    )
    assert "`a` and `b` of `github`" in fault.value.message
    # What outranks both decides, and so does a name.
    assert ground.choose(one, other, account("c", "dir:~/acme/web")).name == "c"
    assert ground.choose(one, other, named=ChosenAccount("b")).name == "b"
    # Two patterns of one account are no contradiction.
    assert ground.choose(account("a", *one.match, *other.match)).name == "a"


def test_a_name_is_taken_at_its_word_and_what_is_unusual_is_said(ground: Ground) -> None:
    ground.remote("git@github.com:acme/web.git")
    accounts = account("work", "remote:github.com/acme/*"), account("me", default=True)
    why = "the call names it; here `work` is usual"
    assert ground.choose(*accounts, named=ChosenAccount("me")) == ChosenAccount("me", why)
    named = ground.choose(*accounts, named=ChosenAccount("work"))
    assert named == ChosenAccount("work", "the call names it")
    with pytest.raises(Fault) as fault:
        ground.choose(*accounts, named=ChosenAccount("mee"))
    assert (fault.value.reason, fault.value.hint) == ("unknown-account", "it has: work, me")


def test_what_was_chosen_stays_whatever_the_repository_says_later(ground: Ground) -> None:
    accounts = account("work", "remote:github.com/acme/*"), account("me", default=True)
    ground.remote("git@github.com:acme/web.git")
    chosen = ground.choose(*accounts)
    ground.remote("git@github.com:other/web.git")
    assert ground.choose(*accounts, named=chosen) == chosen


def test_without_a_match_or_a_default_nothing_is_guessed(ground: Ground) -> None:
    with pytest.raises(Fault) as fault:
        ground.choose(account("work", "remote:github.com/acme/*"), account("me"))
    assert fault.value.reason == "account-undecided"
    assert "work, me" in fault.value.hint
    assert str(ground.home) not in fault.value.message + fault.value.hint


def test_links_are_followed_on_both_sides(ground: Ground, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk"
    (ground.home / "acme").rename(elsewhere)
    (ground.home / "acme").symlink_to(elsewhere)
    assert ground.choose(account("work", "dir:~/acme/**")).name == "work"
    # A link in a folder that is meant does not make a stranger's folder one of it.
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (elsewhere / "linked").symlink_to(stranger)
    ground.workspace = ground.home / "acme" / "linked"
    with pytest.raises(Fault):
        ground.choose(account("work", "dir:~/acme/**"))
