"""Interpreters and package runners: what each takes from the folder that it starts in.

Judged by the words of a command line. A program that stands behind another one, whatever that is,
counts as if it stood alone: nobody can list what starts other programs. Only a command line that
names nothing of this kind is a program like any other.
"""

import os
import re
from collections.abc import Sequence
from typing import Literal

from switchkit.patterns import pattern

# `nothing`: its folder is data to it. `modules`: Python, which can be told to take none from it.
# `settings`: modules, settings or programs in a way that nothing but another folder prevents.
Taken = Literal["nothing", "modules", "settings"]
# Which programs a command starts by their names, without being given them.
Run = Literal["nothing", "python", "node", "anything"]

_PYTHONS = ("python", "pypy")
# fmt: off
_SHELLS = frozenset((
    "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh",
    "yash", "zsh",
))
_NODE = frozenset({"node", "nodejs"})
# Those that fetch a package and run it.
_PYTHON_FETCHERS = frozenset({"pip", "pipx", "uv", "uvx"})
_FETCHERS = _PYTHON_FETCHERS | frozenset((
    "bun", "bunx", "corepack", "deno", "npm", "npx", "pnpm", "pnpx", "yarn",
))
# Those that start the program which stands behind them, and no other.
_STARTERS = frozenset((
    "chpst", "chrt", "doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "su", "sudo",
    "taskset", "time", "timeout", "xargs",
))
# Those that read a file of their folder which says what to do, and those that start another
# program, which is then not ours to judge.
_RUNNERS = _FETCHERS | _STARTERS | frozenset((
    "ant", "asdf", "bundle", "bundler", "cabal", "cargo", "cmake", "conda", "dart", "devbox",
    "devenv", "direnv", "docker-compose", "dotnet", "esno", "flutter", "gem", "gmake", "go",
    "gradle", "gradlew", "hatch", "invoke", "just", "make", "mamba", "micromamba", "mise", "mix",
    "mvn", "mvnw", "ninja", "nix", "nix-shell", "nodemon", "nox", "pdm", "pixi", "podman-compose",
    "poetry", "rake", "rebar3", "rtx", "rye", "sbt", "stack", "swc-node", "swift", "task", "tox",
    "ts-node", "ts-node-esm", "tsx", "vite-node", "zig",
))
# Those of which nobody has found out what they take, and how to keep them from it: some look for
# modules in their folder.
_INTERPRETERS = frozenset((
    "elixir", "erl", "escript", "groovy", "guile", "iex", "java", "jruby", "julia", "jshell",
    "kotlin", "lua", "luajit", "octave", "osascript", "perl", "php", "racket", "rscript",
    "ruby", "scala", "tclsh", "wish",
))
_TAKING = _RUNNERS | _INTERPRETERS | _SHELLS | _NODE
# Words of a language too. In a text they count where a program may stand, in an argument of their
# own always.
_WORDS = frozenset((
    "ant", "dart", "env", "fish", "gem", "go", "hatch", "invoke", "just", "make", "mix", "nice",
    "ninja", "scala", "stack", "su", "swift", "task", "time", "wish",
))
# fmt: on
# What a program may be named by, also in a text that somebody runs, and what may stand before it.
_NAMES = pattern(r"(^|[^\w\s.+/-]\s*|\b(?:do|exec|then)\s+)?([\w.+/-]+)", re.MULTILINE)
# Options of Node that take nothing from a folder.
_NODE_HARMLESS = (
    r"--(?:max-[a-z-]+=\d+|no-warnings|no-deprecation|enable-source-maps|trace-[a-z-]+|use-[a-z-]+)"
)
# Options of Python whose value is the next word.
_PYTHON_TAKES_WORD = "WX"


def name_of(command: str) -> str:
    """The name by which a program is known."""
    return os.path.basename(command).removesuffix(".exe").lower()


def is_python(command: str) -> bool:
    """Whether a command is Python."""
    name = name_of(command)
    # `python`, `pythonw`, `python3.13t`. By hand: everyone waits for the first listing, and it
    # takes longer to compile a pattern.
    for stem in _PYTHONS:
        if name.startswith(stem):
            version = name.removeprefix(stem).removeprefix("w").removesuffix("t")
            return not version or all(part.isdecimal() for part in version.split("."))
    return False


def fetches_packages(command: str) -> bool:
    """Whether a command fetches packages before it runs them."""
    return name_of(command) in _FETCHERS


def runs(command: str) -> Run:
    """What a command runs besides itself, found by the search path."""
    name = name_of(command)
    if name in _FETCHERS:
        return "python" if name in _PYTHON_FETCHERS else "node"
    return "anything" if name in (_RUNNERS - _STARTERS) | _SHELLS else "nothing"


def taken_from_folder(command: str, args: Sequence[str]) -> Taken:
    """What a command line takes from the folder that it starts in, without being asked to."""
    name = name_of(command)
    if name in _RUNNERS | _INTERPRETERS or any(map(_starts_another, args)):
        return "settings"
    if name in _SHELLS:
        return "nothing" if args and os.path.isabs(args[0]) else "settings"
    if name in _NODE:
        return _taken_by_node(args)
    if is_python(command):
        return _taken_by_python(args)
    return "nothing"


def program_file(command: str, args: Sequence[str]) -> str:
    """The file that a command line runs, if it says so as a path: its program, or its script."""
    if os.sep in command and not os.path.isabs(command):
        return command
    name = name_of(command)
    script = ""
    if is_python(command):
        script = _python_script(args)
    elif name in _NODE and _taken_by_node(args) == "settings":
        # The first words may belong to options.
        script = next(filter(os.path.isabs, args), "")
    elif name in _NODE or not any(_runs_text(each) for each in _options(args)):
        words = (each for each in args if not each.startswith("-"))
        script = next(words, "") if name in _NODE | _SHELLS else ""
    return script or (command if os.sep in command else "")


def _starts_another(word: str) -> bool:
    """Whether a word is, or as a text holds, the name of something that takes from its folder."""
    for found in _NAMES.finditer(word):
        before, each = found.groups()
        name = name_of(each)
        if name in _WORDS and before is None:
            continue
        if name in _TAKING or is_python(name) or _is_runner_of_node(each):
            # A folder that is worked on may have any name.
            return not (os.path.isabs(word) and os.path.isdir(word))
    return False


def _is_runner_of_node(path: str) -> bool:
    """Whether a script is what a package runner is made of: `npx` is `npm/bin/npx-cli.js`."""
    if not path.endswith((".js", ".cjs", ".mjs")):
        return False
    packages = path.split("/node_modules/")[1:]
    owners = {each.partition("/")[0] for each in packages}
    return bool(owners & _RUNNERS) or re.split("[-.]", name_of(path))[0] in _FETCHERS


def _options(args: Sequence[str]) -> Sequence[str]:
    """The options before the first word that is none."""
    for index, each in enumerate(args):
        if not each.startswith("-") or each in {"-", "--"}:
            return args[:index]
    return args


def _runs_text(option: str) -> bool:
    """Whether an option of a shell says that the next word is what to run."""
    return not option.startswith("--") and "c" in option[1:]


def _taken_by_node(args: Sequence[str]) -> Taken:
    options = _options(args)
    has_script = len(options) < len(args) and args[len(options)] not in {"-", "--"}
    # With `-r`, `--import`, `-e` and others modules are looked for from its folder upwards.
    harmless = all(re.fullmatch(_NODE_HARMLESS, each) for each in options)
    return "nothing" if has_script and harmless else "settings"


def _taken_by_python(args: Sequence[str]) -> Taken:
    flags, _ = _python_words(args)
    if "I" in flags or "P" in flags:
        return "nothing"
    # A script has its own folder in the place of the one that it starts in.
    return "nothing" if _python_script(args) else "modules"


def _python_script(args: Sequence[str]) -> str:
    at = python_options(args)
    return args[at] if at < len(args) and not args[at].startswith("-") else ""


def python_options(args: Sequence[str]) -> int:
    """How many words are options of Python: before its script, `-m`, `-c`, or what it reads."""
    return _python_words(args)[1]


def _python_words(args: Sequence[str]) -> tuple[str, int]:
    """The letters of its options, and how many words they are."""
    flags = ""
    index = 0
    while index < len(args):
        word = args[index]
        if not word.startswith("-") or word in {"-", "--"}:
            break
        if word.startswith("--"):
            # `--check-hash-based-pycs` alone has a value, and may have it in the same word.
            index += 2 if word == "--check-hash-based-pycs" else 1
            continue
        begun = index
        for at, letter in enumerate(word[1:], 1):
            if letter in "mc":
                return flags, begun
            if letter in _PYTHON_TAKES_WORD:
                index += 0 if word[at + 1 :] else 1
                break
            flags += letter
        index += 1
    return flags, min(index, len(args))
