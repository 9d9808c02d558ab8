"""Interpreters and package runners: what each takes from the folder that it starts in.

Judged by name, as a command line is written. What is not known here is a program like any other.
"""

import os
import re
from collections.abc import Sequence
from typing import Literal

# `nothing`: its folder is data to it. `modules`: Python, which can be told to take none from it.
# `settings`: modules, settings or programs in a way that nothing but another folder prevents.
Taken = Literal["nothing", "modules", "settings"]

_PYTHON = re.compile(r"(?:python|pypy)w?(\d+(?:\.\d+)*)?t?")
# fmt: off
_SHELLS = frozenset((
    "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh",
    "yash", "zsh",
))
_NODE = frozenset({"node", "nodejs"})
# Those that fetch a package and run it.
_FETCHERS = frozenset((
    "bun", "bunx", "corepack", "deno", "npm", "npx", "pip", "pipx", "pnpm", "pnpx", "uv", "uvx",
    "yarn",
))
# Those that read a file of their folder which says what to do, and those that start another
# program, which is then not ours to judge.
_RUNNERS = _FETCHERS | frozenset((
    "ant", "asdf", "bundle", "bundler", "cabal", "cargo", "cmake", "conda", "dart", "devbox",
    "devenv", "direnv", "docker-compose", "dotnet", "esno", "flutter", "gem", "gmake", "go",
    "gradle", "gradlew", "hatch", "invoke", "just", "make", "mamba", "micromamba", "mise", "mix",
    "mvn", "mvnw", "ninja", "nix", "nix-shell", "nodemon", "nox", "pdm", "pixi", "podman-compose",
    "poetry", "rake", "rebar3", "rtx", "rye", "sbt", "stack", "swc-node", "swift", "task", "tox",
    "ts-node", "ts-node-esm", "tsx", "vite-node", "zig",
    "chpst", "chrt", "doas", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "su", "sudo",
    "taskset", "time", "timeout", "xargs",
))
# fmt: on
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
    return _PYTHON.fullmatch(name_of(command)) is not None


def fetches_packages(command: str) -> bool:
    """Whether a command fetches packages before it runs them."""
    return name_of(command) in _FETCHERS


def taken_from_folder(command: str, args: Sequence[str]) -> Taken:
    """What a command line takes from the folder that it starts in, without being asked to."""
    name = name_of(command)
    if name in _RUNNERS:
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
    flags, rest = _python_words(args)
    if "I" in flags or "P" in flags:
        return "nothing"
    if rest and not rest[0].startswith("-"):
        # A script has its own folder in the place of the one that it starts in.
        return "nothing"
    return "modules"


def _python_script(args: Sequence[str]) -> str:
    _, rest = _python_words(args)
    return rest[0] if rest and not rest[0].startswith("-") else ""


def _python_words(args: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The letters of its options, and what follows: a script, or nothing after `-m`, `-c`, `-`."""
    flags = ""
    index = 0
    while index < len(args):
        word = args[index]
        if not word.startswith("-") or word in {"-", "--"}:
            return flags, args[index:]
        if word.startswith("--"):
            # `--check-hash-based-pycs` alone has a value, and may have it in the same word.
            index += 2 if word == "--check-hash-based-pycs" else 1
            continue
        for at, letter in enumerate(word[1:], 1):
            if letter in "mc":
                return flags, ()
            if letter in _PYTHON_TAKES_WORD:
                index += 0 if word[at + 1 :] else 1
                break
            flags += letter
        index += 1
    return flags, ()
