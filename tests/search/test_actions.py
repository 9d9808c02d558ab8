"""What is to be done, and what a tool does: they should agree."""

import pytest

from switchboard.search.actions import agreement, asked_for, done_by
from switchboard.search.finder import Finder, FoundTool
from switchboard.search.query import read_query

DOES = ("fetch_task", "create_task", "update_task", "delete_task", "send_task", "stop_task")
# The same words everywhere: only what a tool does tells it from another.
TOOLS = [
    *(FoundTool("tasks", name, "It is about a task of a team.") for name in reversed(DOES)),
    *(FoundTool("other", f"other_{k}", "Does something else.") for k in range(20)),
]


def first(query: str) -> str:
    return Finder(TOOLS).ranked(query, 1)[0].tool.name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("which task of the team is it", "fetch_task"),
        ("retrieve the task of a team", "fetch_task"),
        ("generating a task", "create_task"),
        ("modify the task of the team", "update_task"),
        ("erased task", "delete_task"),
        ("submit a task", "send_task"),
        ("abort a task", "stop_task"),
        # Whoever names a thing and no more wants to see it.
        ("the task of a team", "fetch_task"),
    ],
)
def test_a_tool_that_does_what_was_asked_for_comes_first(query: str, name: str) -> None:
    assert first(query) == name


def test_a_tool_that_does_not_say_what_it_does_is_taken_as_it_is() -> None:
    assert agreement(asked_for("delete it"), done_by("screenshot", "Screenshots of a page.")) == 1
    assert agreement(asked_for("a screenshot"), done_by("screenshot", "")) == 1


def test_what_stands_in_quotes_is_not_what_is_to_be_done() -> None:
    assert read_query('show the task "delete the mail"').actions == {"read"}


def test_a_tool_does_what_its_name_says_first_and_else_its_description() -> None:
    assert done_by("todoist_delete_task", "Get rid of it.") == {"take away"}
    assert done_by("tasks", "Deletes a task.") == {"take away"}
    assert done_by("tasks", "About tasks. Deletes one.") == frozenset()


def test_words_of_every_action_win_nothing() -> None:
    """A name that has all of them does what its first says, as any other."""
    greedy = FoundTool("greedy", "get_create_update_delete_send_stop_task_of_all", "")
    finder = Finder([greedy, *TOOLS])
    for name in DOES:
        assert finder.ranked(name.replace("_", " a "), 1)[0].tool.name == name
