"""Several calls that a client makes with one request have one answer, and are sent again as one."""

from typing import Any

from receipts.ground import Post, client_of, killed, repeats
from support.mcp_stdio import Json, text_of
from support.processes import until_true


def batch(*texts: str) -> Json:
    calls: list[Any] = [{"tool": "post.post", "args": {"text": text}} for text in texts]
    return {"name": "call_tool", "arguments": {"calls": calls}}


def lean(post: Post, *, guard: bool = False) -> None:
    lines = ['surface_tokens = "lean"', *(["guard = true"] if guard else [])]
    post.workspace.config_toml("\n".join(lines) + "\n", scope="home")


async def test_two_that_are_the_same_in_one_request_are_both_meant(post: Post) -> None:
    lean(post)
    post.answer()
    async with client_of(post) as client:
        answer = (await client.answer_to(client.begin("tools/call", batch("a", "a"))))["result"]
        assert text_of(answer).count("posted: a") == 2
        assert "nothing was run a second time" not in text_of(answer)
    assert post.done == ["post a", "post a"]


async def test_a_request_of_several_is_waited_for_and_found_again_as_a_whole(post: Post) -> None:
    lean(post)
    async with client_of(post) as client:
        first = client.begin("tools/call", batch("a", "b"))
        await until_true(lambda: sorted(post.done) == ["post a", "post b"], 60)
        second = client.begin("tools/call", batch("a", "b"))
        await until_true(lambda: len(wholes(post)) == 2, 60)
        post.answer("a")
        post.answer("b")
        assert repeats((await client.answer_to(first))["result"]) == ""
        answer = (await client.answer_to(second))["result"]
        assert repeats(answer) == wholes(post)[0]
        assert "posted: b" in text_of(answer)
    assert sorted(post.done) == ["post a", "post b"]


async def test_a_request_of_several_whose_client_vanished_is_known_by_its_id(post: Post) -> None:
    lean(post)
    async with client_of(post) as client:
        client.begin("tools/call", batch("a", "b"))
        await until_true(lambda: sorted(post.done) == ["post a", "post b"], 60)
        await killed(client)
    post.answer("a")
    post.answer("b")
    await post.until_kept()
    (whole,) = wholes(post)
    shown = (await post.type("result", whole)).out
    assert "posted: a" in shown
    assert "posted: b" in shown


async def test_it_ends_with_its_client_while_a_person_is_asked_about_one_of_them(
    post: Post,
) -> None:
    lean(post, guard=True)
    async with client_of(post) as client:
        client.begin("tools/call", batch("a"))
        await until_true(lambda: "waiting" in [each.state for each in post.calls()], 60)
        await killed(client)
    await post.until_calls("cancelled")
    assert post.done == []
    assert post.kept == []


def wholes(post: Post) -> list[str]:
    """The ids of the requests of several calls."""
    return [each.id for each in post.all_calls() if each.tool == "call_tool"]
