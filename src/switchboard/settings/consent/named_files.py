"""Which files a command line leads to, by the ways in which programs find what they are to run."""

import os
import re
from collections.abc import Iterator, Sequence

from switchboard.children.schema import Seal
from switchboard.settings.consent.looking import counted, landed, names_in, reached, resolved
from switchboard.settings.consent.node_files import loaded_by_node, packages_of_node

# They take a folder, a module or a name without its ending for code.
_INTERPRETERS = frozenset(
    (
        *("python", "python2", "python3", "pypy", "pypy3", "node", "nodejs", "bun", "deno", "tsx"),
        *("ts-node", "ruby", "perl", "php", "lua", "java", "dotnet", "pwsh"),
    )
)
# They read files that no word names, and run what those say.
RUNNERS = frozenset(
    (
        *("npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "deno", "make", "gmake"),
        *("just", "task", "uv", "uvx", "pipx", "poetry", "pdm", "hatch", "pipenv", "tox", "nox"),
        *("cargo", "go", "gradle", "gradlew", "mvn", "mvnw", "rake", "bundle", "composer"),
        *("dotnet", "sbt", "lein", "mix", "nix", "nix-shell", "direnv", "mise"),
    )
)
_SHELLS = frozenset(("sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "env", "xargs"))
# What programs write that read no code: to ask again whenever they did would be no use.
_DATA = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".log", ".jsonl", ".csv", ".parquet")
# What runners read in the folder that they are started in.
_CONTROL = (
    *("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpm-workspace.yaml"),
    *("package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb", "bunfig.toml", "deno.json"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile"),
    *("pyproject.toml", "uv.toml", "uv.lock", "setup.py", "setup.cfg", "tox.ini", "noxfile.py"),
    *("Cargo.toml", "build.rs", "go.mod", "build.gradle", "pom.xml", "Gemfile", "composer.json"),
    *("tsconfig.json", "deno.jsonc", ".python-version", ".tool-versions", "mise.toml", ".envrc"),
    *("index.js", "index.mjs", "index.cjs", "__main__.py"),
)
_ENDINGS = (
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".json",
    ".py",
    ".rb",
    ".lua",
    "/index.js",
    "/__main__.py",
)
# What Python loads: in the place of a source, and before it has read a line.
_LOADED = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd", ".dylib")
_CUSTOMIZERS = ("sitecustomize", "usercustomize")
_BETWEEN = r"[\s;|&<>()'\"`$={},:]+"
_OPTION = r"^--?[A-Za-z]*=?"


def pieces(word: str) -> Iterator[str]:
    """The word, and what in it may be a path: behind `=`, behind `-I`, between blanks."""
    yield word
    found = [each for each in re.split(_BETWEEN, word) if each]
    if word.startswith("-"):
        found += [word[2:], re.sub(_OPTION, "", word, count=1)]
    yield from dict.fromkeys(each for each in found if each not in ("", word))


def is_runner(seal: Seal) -> bool:
    """Whether what runs is decided by files that no word names."""
    programs = {os.path.basename(word) for word in seal.words}
    programs |= {os.path.basename(each) for word in seal.words for each in pieces(word)}
    return bool(programs & RUNNERS) or _runs_text(seal)


def is_interpreter(seal: Seal) -> bool:
    """Whether what runs is code that can load more code."""
    return any(_program(word) in _INTERPRETERS for word in seal.words)


def named_files(seal: Seal, workspace: str) -> Iterator[tuple[str, str]]:
    """What the command line leads to, under a name, with its path as it is named.

    The words themselves come first, each under itself.
    """
    folder = seal.cwd or workspace
    words = [word for word in seal.words if word and "\0" not in word]
    for word in words:
        yield word, os.path.join(folder, word)
    reads_code = is_interpreter(seal)
    takes_data = not reads_code and not any(_program(word) in _SHELLS for word in words)
    # Where runners, and the PATH of an entry or of its user, look for a name.
    places = ("node_modules/.bin", ".venv/bin", *_inside(seal, workspace))
    for word in words:
        for piece in pieces(word):
            if not (takes_data and piece.endswith(_DATA)):
                yield from _meant(piece, word, folder, reads_code=reads_code)
            if os.sep not in piece:
                for place in places:
                    yield f"program:{place}/{piece}", os.path.join(folder, place, piece)
    yield from _modules(seal, folder)
    yield from loaded_by_node(words, folder)
    yield from _loaded_by_pythons(seal, folder, workspace)
    if is_runner(seal) or any(word in (".", "./") for word in words):
        for name in _CONTROL:
            yield f"control:{name}", os.path.join(folder, name)


def _meant(piece: str, word: str, folder: str, *, reads_code: bool) -> Iterator[tuple[str, str]]:
    if piece != word:
        yield f"part:{piece}", os.path.join(folder, piece)
    if reads_code and not piece.startswith("-"):
        for ending in _ENDINGS:
            yield f"part:{piece}{ending}", os.path.join(folder, piece + ending)


def named_folders(seal: Seal, workspace: str) -> Iterator[tuple[str, str]]:
    """The folders of the workspace that are run as a whole: as a package, or as a project."""
    folder = seal.cwd or workspace
    root = os.path.realpath(workspace)
    found = [(name, os.path.splitext(path)[0]) for name, path in _modules(seal, folder)]
    parts: list[list[str]] | None = None
    for at, word in enumerate(seal.words):
        if _program(word) in _INTERPRETERS:
            parts = parts or [[*pieces(each)] for each in seal.words]
            found += counted(_code_folders(seal.words[at + 1 :], parts[at + 1 :], folder))
    found += packages_of_node(seal.words, folder)
    for name, path in found:
        if "\0" in path or not os.path.isdir(real := landed(path)):
            continue
        named = os.path.normpath(path)
        # A link of the workspace that leads out of it brings what lies there.
        if real.startswith(root + os.sep) or (
            named.startswith(workspace.rstrip(os.sep) + os.sep) and real != root
        ):
            yield f"folder:{name}", real


def _code_folders(
    words: Sequence[str], parts: Sequence[Sequence[str]], folder: str
) -> Iterator[tuple[str, str]]:
    """What stands before the script, or in its place. What comes after it is what it works on."""
    for word, inner in zip(words, parts, strict=True):
        if "\0" in word:
            return
        for piece in inner:
            yield piece, os.path.join(folder, piece)
        if not word.startswith("-") and os.path.lexists(reached(os.path.join(folder, word))):
            return


def _modules(seal: Seal, folder: str) -> Iterator[tuple[str, str]]:
    """What `-m name` may be: a file of any kind or a package beside it, and its bytecode."""
    for word, after in zip(seal.words, (*seal.words[1:], ""), strict=False):
        module = after if word == "-m" else word[2:] if word.startswith("-m") else ""
        if not module or module.startswith("-") or "\0" in module:
            continue
        top = module.split(".", 1)[0].split(":", 1)[0]
        for place in ("", "src"):
            yield f"module:{place}:{top}", os.path.join(folder, place, f"{top}.py")
            inner = os.path.join(folder, place, *module.split("."))
            yield f"module:{place}:{module}", f"{inner}.py"
            yield from _instead_of(top, folder, place)
            if not seal.shuts_bytecode:
                yield from _instead_of(top, folder, os.path.join(place, "__pycache__"))


def _instead_of(top: str, folder: str, place: str) -> Iterator[tuple[str, str]]:
    """What Python would load in the place of a source: machine code, or bytecode without one."""
    for name in names_in(os.path.join(folder, place)):
        if name.startswith(f"{top}.") and name.endswith(_LOADED):
            within = os.path.join(place, name)
            yield f"module:{within}", os.path.join(folder, within)


def _loaded_by_pythons(seal: Seal, folder: str, workspace: str) -> Iterator[tuple[str, str]]:
    """What each start of a Python of the workspace loads before anything else."""
    root = workspace.rstrip(os.sep) + os.sep
    inside = [*_inside(seal, workspace)]
    for word in seal.words:
        if _program(word) not in ("python", "pypy") or "\0" in word:
            continue
        places = [""] if os.sep in word else inside
        for place in counted(places):
            program = os.path.normpath(os.path.join(folder, place, word))
            environment = os.path.dirname(os.path.dirname(program))
            if os.path.lexists(reached(program)) and (environment + os.sep).startswith(root):
                yield from _loaded_in(environment)


def _loaded_in(environment: str) -> Iterator[tuple[str, str]]:
    yield "control:pyvenv.cfg", os.path.join(environment, "pyvenv.cfg")
    for library in names_in(os.path.join(environment, "lib")):
        packages = os.path.join(environment, "lib", library, "site-packages")
        for name in names_in(packages):
            if name.endswith(".pth") or name.startswith(_CUSTOMIZERS):
                yield f"control:{library}/{name}", os.path.join(packages, name)


def _inside(seal: Seal, workspace: str) -> Iterator[str]:
    """The folders of the PATH that lie in the workspace, or are named from where it runs."""
    root = workspace.rstrip(os.sep) + os.sep
    for each in counted(seal.path.split(os.pathsep)):
        if not os.path.isabs(each) or resolved(each).startswith(root):
            yield each or "."


def _runs_text(seal: Seal) -> bool:
    return any(_program(word) in _SHELLS for word in seal.words) and "-c" in seal.words


def _program(word: str) -> str:
    """The name of a program without its version: `python` for `python3.11`."""
    return os.path.basename(word).rstrip("0123456789.") or word
