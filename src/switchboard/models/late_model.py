"""A model whose client is loaded by the first question: most sessions ask none."""

import asyncio
from collections.abc import Callable

from switchboard.models.model import LanguageModel, ModelTask


class LateModel:
    """Answers as the model does that it makes when it is first asked."""

    def __init__(self, make: Callable[[], LanguageModel]) -> None:
        self._make = make
        self._model: LanguageModel | None = None
        self._making = asyncio.Lock()

    async def answer(self, task: ModelTask) -> bytes:
        async with self._making:
            if self._model is None:
                # What it loads takes longer than others should wait.
                self._model = await asyncio.to_thread(self._make)
        return await self._model.answer(task)

    async def aclose(self) -> None:
        if self._model is not None:
            await self._model.aclose()
