"""Files that say what runs without being named: those that programs look for in a folder.

Known ones by their names, and others by what such names look like: nobody can list every program.
"""

import os
import re
from collections.abc import Iterator

from switchboard.settings.consent.looking import counted, looking, names_in, reached, resolved

_NAMES = (
    # Node, and what installs for it.
    *("package.json", "package.yaml", "package.json5", ".npmrc", ".yarnrc", ".yarnrc.yml"),
    *(".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", "pnpm-workspace.yaml", ".pnp.cjs"),
    *(".pnp.loader.mjs", ".pnp.js", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
    *("bun.lockb", "bun.lock", "bunfig.toml", "deno.json", "deno.jsonc", "deno.lock"),
    *("tsconfig.json", "turbo.json", "nx.json", "project.json", "lerna.json", "rush.json"),
    *("gulpfile.js", "Gruntfile.js", "nodemon.json", "ecosystem.config.js", ".nvmrc"),
    *("index.js", "index.mjs", "index.cjs", "server.js"),
    # Python.
    *("pyproject.toml", "uv.toml", "uv.lock", "setup.py", "setup.cfg", "tox.ini", "tox.toml"),
    *("noxfile.py", "Pipfile", "Pipfile.lock", "poetry.toml", "poetry.lock", "pdm.toml"),
    *("pdm.lock", "hatch.toml", "pixi.toml", "pixi.lock", "environment.yml", "tasks.py"),
    *("fabfile.py", "dodo.py", "fastmcp.json", ".python-version", "__main__.py"),
    *("sitecustomize.py", "usercustomize.py"),
    # What makes programs, by language.
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile", "Taskfile.yml"),
    *("Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"),
    *("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb", "Gemfile", "Gemfile.lock", "gems.rb"),
    *("Cargo.toml", "build.rs", "go.mod", "go.work", "magefile.go", "composer.json"),
    *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    *("gradle.properties", "pom.xml", "build.xml", "build.sbt", "project.clj", "deps.edn"),
    *("mix.exs", "rebar.config", "stack.yaml", "cabal.project", "Package.swift", "build.zig"),
    *("build.zig.zon", "pubspec.yaml", "Directory.Build.props", "Directory.Build.targets"),
    *("global.json", "nuget.config", "NuGet.Config", "build.ninja", "meson.build", "SConstruct"),
    *("CMakeLists.txt", "CMakeCache.txt", "CMakePresets.json", "CMakeUserPresets.json", "wscript"),
    *("BUILD", "BUILD.bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", ".bazelrc"),
    *("flake.nix", "flake.lock", "shell.nix", "default.nix", "devbox.json", "devenv.nix"),
    # What starts several programs, or containers.
    *("compose.yaml", "compose.yml", "compose.override.yaml", "compose.override.yml"),
    *("docker-compose.yaml", "docker-compose.yml", "docker-compose.override.yaml"),
    *("docker-compose.override.yml", "process-compose.yaml", "process-compose.yml"),
    *("Dockerfile", "Containerfile", "docker-bake.hcl", "docker-bake.json", "Earthfile"),
    *("Procfile", "Procfile.dev", "Vagrantfile", "Tiltfile", "skaffold.yaml", "ansible.cfg"),
    # What sets variables and versions.
    *(".env", ".env.local", ".envrc", ".tool-versions", "mise.toml", ".mise.toml"),
    *("mise.local.toml",),
)
# The same, in folders of their own.
_INNER = (
    *(".cargo/config.toml", ".cargo/config", ".bundle/config", ".mise/config.toml"),
    *("mise/config.toml", ".config/mise.toml", ".config/mise/config.toml", ".mvn/maven.config"),
    *(".mvn/jvm.config", ".mvn/extensions.xml", "gradle/wrapper/gradle-wrapper.properties"),
    *("project/build.properties", "project/plugins.sbt", ".pixi/config.toml", ".foreman"),
)
# How names look by which programs find what they obey.
_LOOKS = re.compile(
    r"[A-Za-z]*(?:file|File)(?:\.[a-z]+)?|(?:docker-)?compose[\w.-]*\.ya?ml|[\w.-]+\.config\.[a-z]+"
    r"|\.[\w-]+rc(?:\.[a-z0-9]+)?|\.env(?:\.[\w.-]+)?|[\w.-]+\.(?:nix|mk|ninja|bazel|cmake|gradle)"
    r"|[\w.-]+\.(?:gradle\.kts|csproj|fsproj|vbproj|sln|slnx|targets|props|tf)"
)
_GIT = ("config", "config.worktree", "commondir", "gitdir")


def controls_of(folder: str, *, known: bool) -> Iterator[str]:
    """The names in a folder that may say what a program runs in it. Raises `Unbound`.

    Those of a known runner also where there is no such file yet: it may come as it starts.
    """
    there = _controls_in(folder)
    yield from there
    if known:
        yield from (name for name in (*_NAMES, *_INNER) if name not in there)


def _controls_in(folder: str) -> dict[str, None]:
    """Those that are there, found once in a look: most entries share one folder."""
    look, place = looking(), resolved(folder)
    key = ("controls", place)
    if key not in look.known:
        names = frozenset(_NAMES)
        found = [name for name in names_in(place) if name in names or _LOOKS.fullmatch(name)]
        inner = [name for name in counted(_INNER) if os.path.lexists(reached(f"{place}/{name}"))]
        look.known[key] = dict.fromkeys((*found, *inner))
    return look.known[key]


def files_of_git(folder: str) -> Iterator[str]:
    """What git obeys in a folder: as one with a repository in it, and as a repository itself."""
    yield from (".git", ".gitmodules", ".gitattributes")
    for within in ("", ".git"):
        yield from (os.path.join(within, name) for name in _GIT)
        hooks = os.path.join(within, "hooks")
        yield from (os.path.join(hooks, name) for name in names_in(os.path.join(folder, hooks)))
