"""How much each word of a request says: where it stands, and whether it is a value."""

import time

import pytest

from switchboard.search.finder import Finder, FoundTool
from switchboard.search.query import read_query
from switchboard.search.words import stem

TOOLS = [
    FoundTool("notes", "create_note", "Create a note."),
    FoundTool("meetings", "create_meeting", "Create a meeting."),
    FoundTool("files", "read_file", "Read a file."),
    FoundTool("reports", "read_report", "Read a report."),
    FoundTool("trees", "list_trees", "List the trees."),
    FoundTool("shop", "market_order", "Place an order at market price."),
    FoundTool("shop", "order_market", "Rank markets, the first in order."),
    *(FoundTool("other", f"other_{k}", "Does something else.") for k in range(20)),
]
FINDER = Finder(TOOLS)


def first(query: str) -> str:
    return FINDER.ranked(query, 1)[0].tool.name


def weight(query: str, word: str) -> float:
    return read_query(query).said[stem(word)]


@pytest.mark.parametrize(
    "value",
    [
        '"meeting"',
        "'meeting'",
        "`meeting`",
        "\u201cmeeting\u201d",
        "https://example.org/meeting",
        "/home/me/meeting",
        "meeting@example.org",
    ],
)
def test_a_value_says_less_than_the_words_around_it(value: str) -> None:
    query = f"note {value}"
    assert weight(query, "meeting") < 0.5 < weight(query, "note")
    assert first(f"create {value} note") == "create_note"


def test_an_apostrophe_begins_no_quotation() -> None:
    query = "the team's meeting and the user's note"
    assert weight(query, "meeting") > 0.5


def test_a_quotation_that_never_ends_is_none() -> None:
    assert weight('create a "meeting note', "meeting") > 0.5
    assert weight('create "\nmeeting" note', "meeting") > 0.5


def test_what_was_said_first_says_more_and_the_last_word_still_most_of_it() -> None:
    said = read_query(" ".join(f"word{letter}" for letter in "abcdefghijklmnop")).said
    weights = list(said.values())
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[-1] == pytest.approx(0.6)
    assert first("read a file, then mention the report") == "read_file"
    assert first("read a report, then mention the file") == "read_report"


def test_a_word_said_again_counts_twice_and_no_more() -> None:
    assert weight("tree " * 2, "tree") == weight("tree " * 100, "tree")
    assert weight("tree " * 2, "tree") < 2


def test_words_one_after_the_other_find_the_tool_that_has_them_so() -> None:
    assert first("market order") == "market_order"
    assert first("order market") == "order_market"


def test_neighbours_are_counted_of_the_beginning_of_a_request_only() -> None:
    many = " ".join(f"word{k}x" for k in range(500))
    asked = read_query(many)
    assert len(asked.pairs) <= 40
    assert len(asked.said) <= 200


@pytest.mark.parametrize(
    "hostile", ['"' * 4_000, "'a " * 2_000, "a@" * 2_000, "/" * 4_000, "`" * 9]
)
def test_no_request_takes_long_to_read(hostile: str) -> None:
    began = time.process_time()
    for _ in range(10):
        read_query(hostile)
    assert time.process_time() - began < 2


def test_a_name_in_quotes_is_still_that_tool() -> None:
    assert first("please call `list_trees` with the file report meeting note") == "list_trees"


def test_words_in_order_count_at_the_beginning_of_a_description_only() -> None:
    filler = "filler " * 60
    tools = [
        FoundTool("a", "one", f"{filler} zebra crossing"),
        FoundTool("b", "two", f"{filler} crossing zebra"),
        FoundTool("c", "three", f"zebra crossing {filler}"),
    ]
    three, one, two = Finder(tools).ranked("zebra crossing", 3)
    assert (three.tool.server, one.score) == ("c", pytest.approx(two.score))


def test_a_name_that_was_said_comes_before_a_tool_that_has_all_other_words() -> None:
    rare = " ".join(f"w{a}{b}{c}" for a in "abcdef" for b in "ghijkl" for c in "mnop")
    tools = [
        *(FoundTool("many", f"tool{k}", "Something else.") for k in range(3_000)),
        FoundTool("greedy", rare, rare),
        FoundTool("plain", "list_zebras", "Animals."),
    ]
    found = Finder(tools).ranked(f"{rare} list_zebras", 2)
    assert [each.tool.server for each in found] == ["plain", "greedy"]
    # What was once added for a name would not have been enough.
    assert found[1].score > 100
