"""The Gemini API, as far as Gemini CLI needs it."""

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

from support.models.loopback import ScriptedModel, serving
from support.models.script import Json, Offered, Reply, Say, Situation, Step

USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}


class GenerateContent:
    """The dialect of `streamGenerateContent`."""

    def situation(self, body: Json) -> Situation:
        tools = [
            Offered(declared["name"])
            for group in body.get("tools", [])
            for declared in group.get("functionDeclarations", [])
        ]
        return Situation(tools, None, searched=False)

    def results(self, body: Json) -> list[Json]:
        return [
            part["functionResponse"]
            for content in body.get("contents", [])
            for part in content.get("parts", [])
            if "functionResponse" in part
        ]

    def said(self, body: Json) -> int:
        return sum(
            content.get("role") == "model"
            and all("functionCall" not in part for part in content.get("parts", []))
            for content in body.get("contents", [])
        )

    def aside(self, body: Json) -> Reply | None:
        return None if body.get("tools") else Say("aside")

    def events(self, body: Json, reply: Reply) -> list[Json]:
        return [self.whole(body, reply)]

    def whole(self, body: Json, reply: Reply) -> Json:
        content = {"role": "model", "parts": [_part(reply)]}
        candidate = {"index": 0, "content": content, "finishReason": "STOP"}
        return {
            "candidates": [candidate],
            "usageMetadata": USAGE,
            "modelVersion": body.get("model", "mock-model"),
            "responseId": uuid4().hex[:20],
        }


def _part(reply: Reply) -> Json:
    if isinstance(reply, Say):
        return {"text": reply.text}
    return {"functionCall": {"name": reply.tool.name, "args": reply.arguments}}


@contextmanager
def generate_content_model(*steps: Step) -> Generator[ScriptedModel, None, None]:
    """Serve a scripted model for Gemini CLI."""
    path = ":streamGenerateContent"
    with serving(ScriptedModel(GenerateContent(), path, steps, streams=True)) as model:
        yield model
