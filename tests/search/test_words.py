"""Words of texts, as the index knows them."""

import pytest

from switchboard.search.words import squeezed, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("list_repos", ["list", "repo"]),
        ("listReposV2", ["list", "repo", "v", "2"]),
        ("HTTPServer", ["http", "server"]),
        ("the files of a folder", ["fil", "folder"]),
        ("", []),
        ("…!?.*+[](){}|\\^$", []),
        # Full-width letters are the same letters.
        ("\uff2c\uff29\uff33\uff34", ["list"]),
        # No space stands between these words, so that neighbours are found.
        ("天气预报", ["天气", "气预", "预报"]),
        ("Прогноз погоды", ["прогноз", "погоды"]),
    ],
)
def test_a_text_is_its_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    "forms",
    [
        ("create", "creates", "created", "creating", "creation", "creator"),
        ("notify", "notifies", "notified"),
        ("search", "searches", "searched", "searching"),
        ("run", "runs", "running"),
        ("class", "classes"),
        ("query", "queries"),
    ],
)
def test_forms_of_one_word_meet(forms: tuple[str, ...]) -> None:
    assert len({words(form)[0] for form in forms}) == 1


def test_a_name_is_the_same_in_every_spelling() -> None:
    spellings = ("list_repos", "list-repos", "listRepos", "LIST REPOS", "list.repos")
    assert {squeezed(each) for each in spellings} == {"listrepos"}
