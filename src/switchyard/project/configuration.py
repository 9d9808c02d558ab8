"""The configuration of a project, or of one branch of it."""

from switchkit.suggest import suggestion
from switchyard.config.load import load
from switchyard.config.shapes import Config
from switchyard.core.fault import USAGE, YardFault
from switchyard.project.scope import FILE_NAME, ProjectScope, Target


def config_of(scope: ProjectScope) -> Config:
    """The configuration at the root, with the short name that the project was registered under."""
    config = load(scope.root / FILE_NAME)
    known = scope.registration
    return config._replace(slug=known.slug) if known and known.name == config.name else config


def config_for(scope: ProjectScope, target: Target) -> Config:
    """The configuration of one branch: the root's, unless the project says otherwise."""
    config = config_of(scope)
    path = target.worktree / FILE_NAME
    if config.source == "worktree" and target.worktree != scope.root and path.exists():
        return load(path)._replace(root=scope.root, name=config.name, slug=config.slug)
    return config


def check_service(config: Config, name: str) -> None:
    """Refuse a name that is not configured."""
    if name not in config.services:
        raise YardFault(
            "unknown-service",
            f"unknown service `{name}`; {suggestion(name, config.services)}",
            exit_code=USAGE,
        )
