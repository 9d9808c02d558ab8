"""The port to a model that answers one question once. It calls nothing, and remembers nothing."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct


class ModelTask(Struct, frozen=True, kw_only=True):
    """One question. Rules are ours; the material is data, whoever wrote it."""

    rules: str
    material: str
    # What the answer is, and the JSON Schema that it has to fit.
    wanted: str
    schema: Mapping[str, Any]


class LanguageModel(Protocol):
    """One model behind one service."""

    async def answer(self, task: ModelTask) -> bytes:
        """The answer as the model gave it: meant to be JSON, and not looked at yet.

        Raises a fault. Takes a bounded time, and an answer is of a bounded size.
        """
        ...

    async def aclose(self) -> None:
        """Release what it holds."""
        ...
