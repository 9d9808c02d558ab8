"""What a command acts on: which project, which branch, which folder. Reads only."""

from pathlib import Path
from typing import NamedTuple

from switchkit.platform.paths import true_folder
from switchkit.suggest import suggestion
from switchyard.core.fault import CONFLICT, USAGE, YardFault
from switchyard.core.slugs import slug
from switchyard.project.git_files import current_branch
from switchyard.project.home import Home, ProjectPlaces
from switchyard.project.registry import Registration, Registry

FILE_NAME = "switchyard.toml"
SHARED_BRANCH = "*"
SHARED_SLUG = "_project"


class Target(NamedTuple):
    """One branch of the project, with the folder it runs in."""

    branch: str
    slug: str
    worktree: Path


class ProjectScope(NamedTuple):
    """A project seen from a folder. `here` is set when that folder is a registered worktree."""

    home: Home
    registry: Registry
    root: Path
    here: Target | None

    @property
    def places(self) -> ProjectPlaces:
        """The project's files."""
        return self.registry.places(self.root)

    @property
    def registration(self) -> Registration | None:
        """What the registry knows of the project."""
        return self.registry.read().project_of(self.root)

    def before_move(self) -> "ProjectScope | None":
        """The project as it was registered before its folder was moved here, if it was."""
        moved = self.registry.read().moved_to(self.root)
        return self._replace(root=moved.root, here=None) if moved else None

    def main(self) -> Target:
        """The branch that is checked out at the root."""
        branch = current_branch(self.root)
        return Target(branch, slug(branch), self.root)

    def targets(self) -> list[Target]:
        """The root's branch and every registered worktree."""
        known = self.registration
        listed = [
            Target(one.branch, one.slug, one.path) for one in (known.worktrees if known else ())
        ]
        return [self.main(), *listed]

    def target(self, branch: str | None = None) -> Target:
        """The requested branch; without a name, the one of this scope.

        Raises `YardFault` when no checkout of that branch is known.
        """
        if branch is None:
            return self.here or self.main()
        targets = self.targets()
        for one in targets:
            if one.branch == branch:
                return one
        for one in targets:
            if one.slug == branch:
                return one
        known = suggestion(branch, {one.branch for one in targets})
        raise YardFault(
            "unknown-branch",
            f"no worktree is registered for `{branch}`; {known}",
            hint=f"switchyard create {branch}",
            exit_code=USAGE,
        )

    def check_slug(self, branch: str) -> None:
        """Refuse a short name that is taken: two branches would share hosts, ports and logs."""
        for one in self.targets():
            if one.slug == slug(branch) and one.branch != branch:
                raise YardFault(
                    "slug-taken",
                    f"`{branch}` and `{one.branch}` have the same short name `{one.slug}`",
                    hint="choose another branch name",
                    exit_code=CONFLICT,
                )


def nearest_project(cwd: Path) -> Path | None:
    """The nearest folder upwards with a `switchyard.toml`."""
    for folder in (cwd, *cwd.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    return None


def locate(cwd: Path, home: Home) -> ProjectScope:
    """The project that holds this folder. A registered worktree belongs to its parent project.

    Raises `YardFault` when there is none.
    """
    cwd = true_folder(cwd)
    registry = Registry(home)
    held = registry.read().holding(cwd)
    if held:
        project, worktree = held
        here = Target(worktree.branch, worktree.slug, worktree.path)
        return ProjectScope(home, registry, project.root, here)
    root = nearest_project(cwd)
    if root is None:
        raise YardFault(
            "no-project",
            f"there is no `{FILE_NAME}` in {cwd} or above it",
            hint="run `switchyard init` in your project",
            exit_code=USAGE,
        )
    return ProjectScope(home, registry, root, None)


def locate_alias(name: str, home: Home) -> ProjectScope:
    """The project behind an alias.

    Raises `YardFault` when the alias is unknown or its project is gone.
    """
    registry = Registry(home)
    aliases = registry.read().aliases
    root = aliases.get(name)
    if root is None:
        raise YardFault(
            "unknown-alias",
            f"no project is registered as `{name}`; {suggestion(name, aliases)}",
            hint=f"run `switchyard mcp install --name {name}` in the project",
            exit_code=USAGE,
        )
    if not (root / FILE_NAME).is_file():
        raise YardFault(
            "stale-alias",
            f"the alias `{name}` points to {root}, which has no `{FILE_NAME}`",
            hint=f"run `switchyard mcp install --name {name} --force` in the project",
            exit_code=USAGE,
        )
    return ProjectScope(home, registry, root, None)


def within(scope: ProjectScope, cwd: Path) -> ProjectScope:
    """The same project seen from another folder; a call can never leave it.

    Raises `YardFault` when the folder is neither under the root nor in a registered worktree.
    """
    real = true_folder(cwd)
    held = scope.registry.read().holding(real)
    if held and held[0].root == scope.root:
        worktree = held[1]
        return scope._replace(here=Target(worktree.branch, worktree.slug, worktree.path))
    if real == scope.root or scope.root in real.parents:
        return scope._replace(here=None)
    raise YardFault(
        "outside-project",
        "`cwd` is outside this project and its registered worktrees",
        exit_code=USAGE,
    )


def pinned(scope: ProjectScope, cwd: Path) -> ProjectScope:
    """The project as seen from where the server was started, when that is part of it."""
    try:
        return within(scope, cwd)
    except YardFault:
        return scope
