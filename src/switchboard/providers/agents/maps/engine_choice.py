"""Which engine runs an agent."""

from switchboard.engines.profile import RunFields

DEFAULT = "codex"
# By provider, and by how the name of a model begins.
PROVIDERS = {"anthropic": "claude", "openai": "codex"}
MODELS = {"claude": "claude", "gpt": "codex", "codex": "codex"}


def chosen_engine(agent: str, mapping: str, default: str, fields: RunFields) -> str:
    """The engine that the agent names, else the map, else the settings, else by the model."""
    return agent or mapping or default or _of_model(fields)


def _of_model(fields: RunFields) -> str:
    """The engine that a model belongs to, once the map has been applied."""
    if fields.model_provider:
        return PROVIDERS.get(fields.model_provider.casefold(), DEFAULT)
    model = (fields.model or "").casefold()
    known = (engine for start, engine in MODELS.items() if model.startswith(start))
    return next(known, DEFAULT)
