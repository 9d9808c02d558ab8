"""What the names of models and providers in agent files mean.

A map only rewrites what an agent says: one that names no model gets none.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.config.documents import Document
from switchboard.config.problems import Problem
from switchboard.config.strict import Items, Members, ProblemReport, Table, Text
from switchboard.engines.profile import RunFields
from switchboard.providers.agents.options import AgentOptions
from switchboard.providers.agents.section import ENGINE

_WORD = Text(empty=False)
_MAPPING = Table(
    noun="a mapping",
    fields={
        "token": _WORD,
        "to_model": _WORD,
        "to_provider": _WORD,
        "aliases": Items(item=_WORD),
        "engine": ENGINE,
    },
    required=("token", "to_model"),
)
_FILE = Table(
    noun="a map of models",
    fields={"mappings": Items(item=_MAPPING), "provider_aliases": Members(value=_WORD)},
)


class ModelTarget(Struct, frozen=True, kw_only=True):
    """What one name stands for."""

    model: str
    provider: str = ""
    # `codex`, `claude` or `acp:NAME`; empty: by the model.
    engine: str = ""


_GPT_5 = ModelTarget(model="gpt-5", provider="openai")
_GPT_5_MINI = ModelTarget(model="gpt-5-mini", provider="openai")


def _openai(model: str) -> ModelTarget:
    return ModelTarget(model=model, provider="openai")


# The page about agents shows these as they stand.
BUILT_IN: dict[str, ModelTarget] = {
    "sonnet": _GPT_5,
    "opus": _GPT_5,
    "haiku": _GPT_5_MINI,
    "Claude Sonnet 3.5": _GPT_5,
    "Claude Sonnet 3.7": _GPT_5,
    "Claude Sonnet 4": _GPT_5,
    "Claude Opus 4": _GPT_5,
    "Claude Opus 4.1": _GPT_5,
    "Claude 3.7": _GPT_5,
    "Claude 3.7 Thinking": _GPT_5,
    "Claude Haiku 3": _GPT_5_MINI,
    "Claude Haiku 3.5": _GPT_5_MINI,
    "Gemini 2.5 Pro": _GPT_5,
    "Auto": _GPT_5,
    "GPT-4.1": _openai("gpt-4.1"),
    "GPT-4o": _openai("gpt-4o"),
    "o3-mini": _openai("o3-mini"),
    "GPT-5 mini (Preview)": _GPT_5_MINI,
    "GPT-5 mini": _GPT_5_MINI,
    "GPT-5-mini": _GPT_5_MINI,
}
BUILT_IN_PROVIDERS = {"OpenAI": "openai", "Anthropic": "anthropic", "Claude": "anthropic"}


class Rewrite(Struct, frozen=True, kw_only=True):
    """What a map made of the model and the provider of an agent."""

    fields: RunFields
    # The engine that the map names for the model.
    engine: str = ""
    # What was changed, in words; empty where nothing was.
    changes: tuple[str, ...] = ()
    # What the map does not know, in words.
    warnings: tuple[str, ...] = ()


class ModelMap(Struct, frozen=True, kw_only=True):
    """Names of models and of providers, in any case."""

    targets: dict[str, ModelTarget]
    providers: dict[str, str]

    def knows(self, model: str) -> bool:
        """Whether a name of a model is in the map."""
        return _key(model) in self.targets

    def over(self, below: "ModelMap") -> "ModelMap":
        """This map laid over another one."""
        return ModelMap(
            targets={**below.targets, **self.targets},
            providers={**below.providers, **self.providers},
        )

    def rewrite(self, fields: RunFields, options: AgentOptions) -> Rewrite:
        """The model and the provider of an agent in the words of engines."""
        if not options.model_map_enable:
            return Rewrite(fields=fields)
        changes: list[str] = []
        warnings: list[str] = []
        engine = ""
        model, provider = fields.model, fields.model_provider
        if provider is not None and options.model_map_normalize_provider:
            known = self.providers.get(_key(provider))
            if known is not None and known != provider:
                changes.append(f"provider `{provider}` is `{known}`")
                provider = known
        target = None if model is None else self.targets.get(_key(model))
        if target is None and model is not None and options.model_map_strict:
            warnings.append(f"the map of models does not know `{model}`, which stays as it is")
        if target is not None:
            keeps = provider is not None and not options.model_map_override_provider
            if keeps and target.provider and _key(target.provider) != _key(provider or ""):
                # A model that the named provider does not have would run nowhere.
                warnings.append(
                    f"`{model}` stays: the agent names the provider `{provider}`, and the map means"
                    f" `{target.provider}`"
                )
            else:
                if target.model != model:
                    changes.append(f"model `{model}` is `{target.model}`")
                if target.provider and target.provider != provider:
                    changes.append(f"its provider is `{target.provider}`")
                model, engine = target.model, target.engine
                provider = provider if keeps else target.provider or provider
        return Rewrite(
            fields=replace(fields, model=model, model_provider=provider),
            engine=engine,
            changes=tuple(changes),
            warnings=tuple(warnings),
        )


@cache
def built_in_map() -> ModelMap:
    """The map of Switchboard itself."""
    return model_map(BUILT_IN, BUILT_IN_PROVIDERS)


def model_map(targets: Mapping[str, ModelTarget], providers: Mapping[str, str]) -> ModelMap:
    """A map by its names, which count in any case."""
    return ModelMap(
        targets={_key(name): target for name, target in targets.items()},
        providers={_key(name): provider for name, provider in providers.items()},
    )


def read_model_map(document: Document, problems: list[Problem]) -> ModelMap | None:
    """The map of a file; nothing where it is wrong, which `problems` say."""
    found: list[Problem] = []
    fine = _FILE.check(document.tree, (), ProblemReport(document, found))
    problems += [replace(problem, near=False) for problem in found]
    if not fine:
        return None
    targets: dict[str, ModelTarget] = {}
    for mapping in cast("list[dict[str, Any]]", document.tree.get("mappings", [])):
        target = ModelTarget(
            model=mapping["to_model"],
            provider=mapping.get("to_provider", ""),
            engine=mapping.get("engine", ""),
        )
        targets |= dict.fromkeys((mapping["token"], *mapping.get("aliases", ())), target)
    return model_map(targets, document.tree.get("provider_aliases", {}))


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
