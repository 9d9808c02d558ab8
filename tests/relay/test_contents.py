"""What children offer and answer arrives as they wrote it, whichever eras meet."""

import json

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from relay.bridges import EraName, Person, client_of, each_bridge, texts, wired
from support.relays import relays
from support.workspace import Workspace


@relays("tools under their own names")
@each_bridge
async def test_tools_are_listed_and_called_by_their_own_names(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"dressed", "test_simple_text"} <= set(names)
        assert not any(name.endswith("_suite") for name in names)
        answer = await client.call_tool("test_simple_text", {})
        assert texts(answer.content) == "This is a simple text response for testing."


@relays("title, annotations, output schema, icons and `_meta` of tools")
@each_bridge
async def test_everything_that_a_child_says_of_a_tool_is_kept(
    client_era: EraName, warm: Workspace
) -> None:
    async with wired(client_era, warm) as client:
        shown = (await client.tools())["dressed"]
    assert shown["title"] == "A tool in full dress"
    assert shown["annotations"] == {
        "title": "Dressed",
        "readOnlyHint": True,
        "openWorldHint": False,
    }
    assert shown["outputSchema"]["required"] == ["degrees"]
    assert shown["icons"][0]["sizes"] == ["16x16"]
    assert shown["_meta"] == {"example.org/kept": [1, {"two": None}]}


@relays("structured content")
@relays("text, images and audio")
@relays("embedded and linked resources")
@each_bridge
async def test_every_kind_of_content_arrives_unchanged(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        await client.list_tools()
        answer = await client.call_tool("dressed", {"city": "Oslo"})
    text, image, audio, embedded, link = answer.content
    assert isinstance(text, types.TextContent)
    assert text.text == "in Oslo"
    assert text.annotations is not None
    assert text.annotations.priority == 0.5
    assert isinstance(image, types.ImageContent)
    assert (image.data, image.mime_type) == ("iVBORw0KGgo=", "image/png")
    assert isinstance(audio, types.AudioContent)
    assert (audio.data, audio.mime_type) == ("UklGRg==", "audio/wav")
    assert isinstance(embedded, types.EmbeddedResource)
    assert embedded.resource.uri == "frank://inside"
    assert isinstance(link, types.ResourceLink)
    assert (link.uri, link.title) == ("frank://1", "Number one")
    assert answer.structured_content == {"degrees": 21.5}
    assert answer.meta is not None
    assert answer.meta["example.org/result"] is True


@relays("text, images and audio")
@relays("embedded and linked resources")
@each_bridge
async def test_the_contents_of_the_official_server_arrive_too(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        kinds = [
            block.type
            for name in ("test_image_content", "test_audio_content", "test_multiple_content_types")
            for block in (await client.call_tool(name, {})).content
        ]
    assert kinds == ["image", "audio", "text", "image", "resource"]


@relays("failures of tools")
@each_bridge
async def test_a_tool_that_fails_says_so_itself_and_a_refusal_keeps_its_code(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        failed = await client.call_tool("test_error_handling", {})
        assert failed.is_error
        assert texts(failed.content) == "This tool intentionally returns an error for testing"
        with pytest.raises(MCPError) as refused:
            await client.call_tool("no_such_tool", {})
        assert refused.value.error.code == types.INVALID_PARAMS
        assert "no_such_tool" in refused.value.error.message


@relays("pagination", how="in one page")
@each_bridge
async def test_the_pages_of_a_child_become_one(client_era: EraName, warm: Workspace) -> None:
    async with client_of(client_era, warm, Person()) as client:
        tools = await client.list_tools()
        resources = await client.list_resources()
        prompts = await client.list_prompts()
    assert {"dressed", "heard"} <= {tool.name for tool in tools.tools}
    assert {f"frank://{number}" for number in range(5)} <= {
        resource.uri for resource in resources.resources
    }
    assert {f"prompt_{number}" for number in range(3)} <= {
        prompt.name for prompt in prompts.prompts
    }
    assert tools.next_cursor is resources.next_cursor is prompts.next_cursor is None


@relays("resources")
@each_bridge
async def test_resources_are_listed_and_read_by_their_own_uris(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        listed = {resource.uri: resource for resource in (await client.list_resources()).resources}
        assert listed["test://static-binary"].mime_type == "image/png"
        [binary] = (await client.read_resource("test://static-binary")).contents
        assert isinstance(binary, types.BlobResourceContents)
        assert binary.blob.startswith("iVBOR")
        [text] = (await client.read_resource("frank://1")).contents
        assert isinstance(text, types.TextResourceContents)
        assert (text.uri, text.text) == ("frank://1", "frank: frank://1")


@relays("resources")
@each_bridge
async def test_a_resource_that_is_not_there_is_refused_with_the_code_of_the_clients_era(
    client_era: EraName, warm: Workspace
) -> None:
    expected = {"handshake": -32002, "modern": -32602}[client_era]
    async with client_of(client_era, warm, Person()) as client:
        for uri in ("frank://item/missing", "nowhere://at/all"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.error.code == expected
            assert refused.value.error.data["uri"] == uri


@relays("resource templates")
@each_bridge
async def test_a_resource_of_a_template_is_found_without_being_listed(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        found = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template for each in found} == {
            "test://template/{id}/data",
            "frank://item/{id}",
        }
        [data] = (await client.read_resource("test://template/42/data")).contents
        assert isinstance(data, types.TextResourceContents)
        assert json.loads(data.text)["id"] == "42"


@relays("prompts")
@each_bridge
async def test_prompts_are_listed_and_got_with_their_arguments(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        wanted = listed["test_prompt_with_arguments"].arguments or []
        assert [argument.name for argument in wanted] == ["arg1", "arg2"]
        got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert "arg1='a', arg2='b'" in texts([message.content for message in got.messages])
        picture = await client.get_prompt("test_prompt_with_image", {})
        assert picture.messages[0].content.type == "image"


@relays("completion")
@each_bridge
async def test_completions_reach_the_prompt_or_template_that_is_meant(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        prompt = types.PromptReference(name="test_prompt_with_arguments")
        found = await client.complete(prompt, {"name": "arg1", "value": "par"})
        assert found.completion.values == ["paris", "park", "party"]
        template = types.ResourceTemplateReference(uri="frank://item/{id}")
        found = await client.complete(
            template, {"name": "id", "value": "4"}, context_arguments={"who": "Ada"}
        )
        assert found.completion.values == ["frank://item/{id}", "4…", '{"who": "Ada"}']


@relays("caching hints", "modern→modern", "of the child for what is read, ours for listings")
@relays("caching hints", "modern→handshake", "ours: nothing is kept of what is read")
@pytest.mark.parametrize(("child_era", "kept_ms"), [("modern", 4321), ("handshake", 0)])
async def test_a_modern_client_is_told_how_long_what_it_read_holds(
    warm: Workspace, kept_ms: int
) -> None:
    async with wired("modern", warm) as client:
        read = await client.request("resources/read", {"uri": "frank://1"})
        assert read["ttlMs"] == kept_ms
        assert read["cacheScope"] == ("public" if kept_ms else "private")
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            listed = await client.request(method)
            assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
            assert listed["ttlMs"] > 0


@each_bridge
async def test_what_a_client_adds_to_meta_reaches_the_child_and_its_token_does_not(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        answer = await client.call_tool(
            "meta", {}, meta={"example.org/trace": {"id": 7}, "switchboard/server": "forged"}
        )
    meta = json.loads(texts(answer.content))
    assert meta["example.org/trace"] == {"id": 7}
    assert "switchboard/server" not in meta
    assert isinstance(meta["progressToken"], int)


@each_bridge
async def test_a_child_is_told_what_the_client_can_be_asked(
    client_era: EraName, warm: Workspace
) -> None:
    async with client_of(client_era, warm, Person()) as client:
        declared = json.loads(texts((await client.call_tool("declared", {})).content))
    assert set(declared) == {"elicitation", "sampling", "roots"}
    assert set(declared["elicitation"]) == {"form", "url"}


@relays("ping", "handshake→handshake", "each side answers for itself")
@relays("ping", "handshake→modern", "answered; the child's era has none")
@pytest.mark.parametrize("child_era", ["handshake", "modern"])
async def test_a_ping_is_answered_on_either_side(child_era: EraName, warm: Workspace) -> None:
    async with wired("handshake", warm) as client:
        assert await client.request("ping") == {}
        if child_era == "handshake":
            answer = await client.call("ping", {})
            assert json.loads(answer["content"][0]["text"]) == {}


@relays("ping", "modern→handshake", "the child's is answered; the client's era has none")
@relays("ping", "modern→modern", "neither era has it")
@pytest.mark.parametrize("child_era", ["handshake", "modern"])
async def test_a_modern_client_has_no_ping_and_its_childs_is_answered(
    child_era: EraName, warm: Workspace
) -> None:
    async with wired("modern", warm) as client:
        refused = await client.answer_to(client.begin("ping"))
        assert refused["error"]["code"] == -32601
        if child_era == "handshake":
            answer = await client.call("ping", {})
            assert json.loads(answer["content"][0]["text"]) == {}


@each_bridge
async def test_a_method_of_the_other_era_is_refused_and_not_left_hanging(
    client_era: EraName, warm: Workspace
) -> None:
    foreign = {
        "handshake": ["server/discover", "subscriptions/listen"],
        "modern": ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"],
    }[client_era]
    async with wired(client_era, warm) as client:
        for method in foreign:
            answer = await client.answer_to(client.begin(method, {"uri": "frank://1"}))
            assert answer["error"]["code"] == -32601
