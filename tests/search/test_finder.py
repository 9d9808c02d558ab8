"""The search over tools: what comes first, what is worth reading, and what cannot win."""

import subprocess
import sys

import pytest

from switchboard.search.finder import Finder, FoundTool

TOOLS = [
    FoundTool("github", "create_issue", "Open a new issue in a repository."),
    FoundTool("github", "list_issues", "List the issues of a repository, by state or label."),
    FoundTool("github", "merge_pull_request", "Merge a pull request into its base branch."),
    FoundTool("files", "read_file", "Read a file from the disk."),
    FoundTool("files", "write_file", "Write text to a file on the disk."),
    FoundTool("files", "list_directory", "List what a directory holds."),
    FoundTool("weather", "forecast", "The weather of the next days at a place."),
    FoundTool("mail", "send", "Send a message to somebody.", {"properties": {"recipient": {}}}),
    FoundTool("", "switchyard_up", "Start the services of a branch."),
]


def found(query: str, server: str = "", most: int = 0) -> list[str]:
    return [each.tool.address for each in Finder(TOOLS).find(query, server, most).found]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("open a new ticket in a repository", "github.create_issue"),
        ("show the entries of a folder", "files.list_directory"),
        ("will it rain: weather at my place", "weather.forecast"),
        ("merging PRs", "github.merge_pull_request"),
        ("recipient", "mail.send"),
        ("start services", "switchyard_up"),
    ],
)
def test_a_need_in_ones_own_words_finds_the_tool(query: str, first: str) -> None:
    assert found(query)[0] == first


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.address)
def test_the_name_of_a_tool_finds_it_first_in_any_spelling(tool: FoundTool) -> None:
    for name in (tool.name, tool.address, tool.name.upper(), tool.name.replace("_", "-")):
        assert found(name)[0] == tool.address
    assert found(f"read, write and list files with {tool.address}, please")[0] == tool.address


def test_an_address_as_it_is_written_comes_before_one_that_is_spelled_alike() -> None:
    tools = [
        FoundTool(server, name, "Get it.")
        for server in ("air-table", "airtable", "Air_Table")
        for name in ("get", "ge_t", "G-et")
    ]
    finder = Finder(tools)
    for tool in tools:
        for query in (tool.address, f"{tool.address}.", f"please call {tool.address} for me"):
            assert finder.find(query).found[0].tool == tool


def test_a_server_can_be_asked_alone() -> None:
    assert set(found("list", server="files")) <= {"files.list_directory"}
    assert found("list issues", server="mail") == []


def test_two_to_eight_are_worth_reading_and_a_limit_is_kept() -> None:
    many = Finder([FoundTool(f"s{k}", "list_things", "List things.") for k in range(30)])
    assert len(many.find("list things").found) == 8
    assert len(many.find("list things", most=12).found) == 12
    assert not many.find("list things").is_sure
    assert len(found("merge a pull request of the repository")) == 2
    assert Finder(TOOLS).find("merge pull request into its base branch").is_sure


@pytest.mark.parametrize("query", ["", "   ", "the of and", ".*", "🎉", "x" * 200_000])
def test_a_query_that_says_nothing_finds_nothing(query: str) -> None:
    assert found(query) == []


def test_a_sentence_about_something_else_finds_nothing() -> None:
    assert found("please turn off the coffee maker in the kitchen at seven") == []


def test_a_query_in_another_script_finds_its_tool() -> None:
    tools = [
        *TOOLS,
        FoundTool("tianqi", "yubao", "查询城市的天气预报"),
        FoundTool("a", "b", "发送邮件"),
    ]
    assert Finder(tools).find("北京天气").found[0].tool.address == "tianqi.yubao"


def test_nobody_wins_every_query_by_stuffing_words() -> None:
    everything = " ".join(f"{each.name} {each.description}" for each in TOOLS)
    tools = [*TOOLS, FoundTool("greedy", "best_tool", f"{everything} " * 50)]
    finder = Finder(tools)
    for tool in TOOLS:
        assert finder.find(tool.description).found[0].tool == tool


def test_look_alike_names_stay_apart() -> None:
    tools = [FoundTool("a", "deploy", "Deploy."), FoundTool("b", "d\u0435ploy", "Deploy.")]
    assert Finder(tools).find("deploy").found[0].tool.server == "a"


def test_an_answer_never_depends_on_chance() -> None:
    tools = [FoundTool(name, "same", "The same words.") for name in "abcdefgh"]
    answers = {
        tuple(each.tool.server for each in Finder(tools).ranked("same words", 8)) for _ in "12"
    }
    assert answers == {tuple("abcdefgh")}


def test_schemas_of_any_shape_are_indexed() -> None:
    shapes: list[object] = [{}, {"properties": []}, {"properties": {"a": 1}}, {"properties": None}]
    tools = [FoundTool("s", f"t{k}", "", {"x": each}) for k, each in enumerate(shapes)]
    tools += [FoundTool("s", "u", "", {"properties": {"a": {"description": ["no text"]}}})]
    assert [each.tool.name for each in Finder(tools).find("u").found] == ["u"]


def test_words_that_many_names_have_find_their_tool_in_a_sentence_too() -> None:
    verbs, nouns = ("create", "delete", "list", "merge"), ("issue", "branch", "file", "mail")
    tools = [
        FoundTool("many", f"{verbs[k % 4]}_{nouns[k // 4 % 4]}_{k}", "It does that.")
        for k in range(2_000)
    ]
    [first, *_] = Finder(tools).find("create an issue, whatever comes first tomorrow").found
    assert first.tool.name.startswith("create_issue_")
    assert Finder(tools).find("whatever comes first tomorrow: create coffee").found == ()


def test_a_word_said_again_and_again_counts_a_few_times() -> None:
    tools = [
        FoundTool("a", "one", "deploy " * 40 + "to somewhere else"),
        FoundTool("b", "two", "deploy " * 4 + "to somewhere else"),
    ]
    one, two = Finder(tools).ranked("deploy", 2)
    assert one.score == pytest.approx(two.score)


def test_of_a_text_only_the_first_words_count() -> None:
    tools = [FoundTool("a", "one", "filler " * 400 + "zebra"), FoundTool("b", "two", "a horse")]
    finder = Finder(tools)
    assert finder.find("zebra").found == ()
    assert finder.find("horse").found != ()


def test_of_a_query_only_the_beginning_counts() -> None:
    assert found("x" * 5_000 + " weather") == []
    assert found("weather " + "x" * 5_000) == ["weather.forecast"]


def test_a_tool_all_of_whose_name_was_said_comes_before_one_that_says_more() -> None:
    tools = [
        FoundTool("a", "read_file_fast_lines", "Read file, read file."),
        FoundTool("b", "read_file", "It does just this."),
        *(FoundTool("c", f"other_{k}", "Does other things.") for k in range(20)),
    ]
    assert Finder(tools).find("read a file for me now").found[0].tool.server == "b"


def test_the_search_loads_nothing_but_the_standard_library() -> None:
    """Whoever only searches does not wait for more."""
    code = (
        "import sys; import switchboard.search.finder;"
        " print([m for m in sys.modules if m.partition('.')[0] in ('msgspec', 'attrs')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_fifty_thousand_tools_are_searched_and_a_name_still_comes_first() -> None:
    verbs, nouns = ("create", "delete", "list", "merge"), ("issue", "branch", "file", "mail")
    tools = [
        FoundTool(f"server{k % 500}", f"{verbs[k % 4]}_{nouns[k // 4 % 4]}_{k}", "It does that.")
        for k in range(50_000)
    ]
    finder = Finder([*tools, FoundTool("zoo", "feed_animals", "Feed the animals of a zoo.")])
    assert finder.find("give the animals something to eat").found[0].tool.server == "zoo"
    for place in (0, 31_337, 49_999):
        assert finder.find(f"please use {tools[place].name} now").found[0].tool == tools[place]


def test_a_name_with_capitals_inside_meets_the_server_that_has_none() -> None:
    tools = [
        FoundTool(server, "list_projects", "List the projects that you may see.")
        for server in ("gitlab", "github", "hub", "git", "youtube")
    ]
    for name, server in (("GitHub", "github"), ("GitLab", "gitlab"), ("YouTube", "youtube")):
        first = Finder(tools).find(f"list my projects on {name}").found[0].tool
        assert first.server == server
