"""Which command lines can be followed to the code that they name, and to which.

A small grammar of what is known, and nothing else: a program or script of the workspace; Python and
Node with a file or a module of it; packages of a registry, containers and installed programs that
are servers by their name, given words that lead to no code; a text for a shell of such commands.
Whatever is not in it raises `Unfollowed`, and is bound to every file of the workspace instead. To
list what must not be followed was given up: no such list was ever complete.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from switchboard.children.starting.runners import is_python
from switchboard.settings.consent.lines.command_lines import CommandLine, Lead, Leads, Unfollowed
from switchboard.settings.consent.lines.command_words import (
    INTERPRETERS,
    SHELLS,
    named_files,
    program_name,
)
from switchboard.settings.consent.lines.foreign_words import foreign_words, leads_by_name
from switchboard.settings.consent.lines.project_files import (
    files_of_projects,
    loaded_in,
    script_module,
)
from switchboard.settings.consent.lines.shell_texts import UNREAD, lines_in
from switchboard.settings.consent.looking import landed, names_in, reached
from switchboard.settings.secret_rules import loads_code
from switchkit.patterns import pattern

_Follow = Callable[[CommandLine], Leads]
_MOST_DEPTH = 3
# Options that load nothing, by program.
_PYTHON_FLAGS = pattern(r"-[bBdEiIOPqRsSuvx]+")
_PYTHON_MODULE = pattern(r"-([bBdEiIOPqRsSuvx]*)m(.*)")
_APART = frozenset("IP")
_NODE_FLAGS = pattern(
    r"--(?:max-[a-z-]+=\d+|no-warnings|no-deprecation|enable-source-maps|trace-[a-z-]+"
    r"|experimental-strip-types)"
)
_SHELL_FLAGS = pattern(r"-[eux]+")
_SHELL_TEXT = pattern(r"-[eilux]*c[eilux]*")
_UV_FLAGS = pattern(r"-q|--(?:quiet|frozen|locked|no-sync|no-dev|no-progress|offline)")
_PACKAGE_FLAGS = pattern(r"-[yq]|--(?:yes|quiet|prefer-offline|prefer-online|offline|refresh)")
_CONTAINER_FLAGS = pattern(
    r"-[it]{1,2}|--(?:rm|init|interactive|tty|quiet|read-only)"
    r"|--(?:name|network|net|platform|pull|env|env-file|user|hostname)=\S+"
)
_CONTAINER_VALUES = frozenset(
    (
        *("-e", "--env", "--env-file", "-p", "--publish", "--name", "--network", "--net", "-u"),
        *("--platform", "--pull", "--user", "-h", "--hostname", "-l", "--label"),
    )
)
_IMAGE = pattern(r"[a-zA-Z0-9][\w./:@-]*")
# A package by its name in a registry, with a version or without: no path, address or archive.
_PACKAGE = pattern(
    r"(@[\w.-]+/)?[A-Za-z0-9][\w.-]*(?:\[[\w,-]+\])?(?:(?:@|[=<>~!]=?)[\w.^~*=<>-]+)?"
)
_ARCHIVE = pattern(r".*\.(?:tgz|tar|gz|zip|whl|bz2|xz)", re.IGNORECASE)
_VERSION = pattern(r"[\w.@-]+")
# Who says by its name that it is a server has no reason to run what lies around.
_SERVER = pattern(
    r"(?:.*[-_./@])?mcp[-_./@].+|.+[-_./@]mcp|@modelcontextprotocol/.+", re.IGNORECASE
)
_MODULE = pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_LOADED = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd", ".dylib")


def followed(line: CommandLine, depth: int = 0) -> Leads:
    """What a command line names. Raises `Unfollowed`, and `Unbound`."""
    if not any(line.words):
        # Nothing is started.
        return Leads()
    if depth > _MOST_DEPTH or any("\0" in word for word in line.words):
        raise Unfollowed(UNREAD)
    if any(loads_code(name, repository=True) for name in line.env):
        raise Unfollowed("a variable of it makes programs load code")
    program = line.words[0]
    beside = Leads(folders=tuple(_programs_of_entry(line)))
    own = _own_program(line)
    if own is not None:
        return own.with_those(beside)
    name = os.path.basename(landed(line.at(program)) if line.holds(program) else program)
    found = Leads(files=tuple(_program_files(line))).with_those(beside)
    if name in ("sh", "ash", "bash", "dash", "ksh", "zsh"):
        return found.with_those(_shell(line, depth))
    if is_python(name):
        return found.with_those(_python(line))
    for names, follow in _KNOWN.items():
        if name in names:
            return found.with_those(follow(line))
    real = landed(_found_program(line))
    is_other = {program_name(real), os.path.basename(real)} & (INTERPRETERS | SHELLS)
    is_own = os.sep in program and line.holds(program) and not line.is_own_file(program)
    if not _SERVER.fullmatch(name) or is_other or is_own:
        raise Unfollowed(f"nobody knows what `{name}` takes from the folder that it starts in")
    return found.with_those(foreign_words(line, line.words[1:]))


def _own_program(line: CommandLine) -> Leads | None:
    """A program of the workspace: what it makes of its words is its own, as what it loads is."""
    program = line.words[0]
    if os.sep not in program or not line.holds(program):
        return None
    path = landed(line.at(program))
    if not line.is_inside(path) or (os.path.lexists(path) and not os.path.isfile(path)):
        return None
    if program_name(path) in INTERPRETERS | SHELLS or _is_installed(path):
        return None
    return Leads(files=((program, line.at(program)), *named_files(line.folder, line.words[1:])))


def _is_installed(path: str) -> bool:
    """Whether a file of the workspace came with a package of somebody else."""
    parts = path.split(os.sep)
    environment = os.path.dirname(os.path.dirname(path))
    return not {"node_modules", "site-packages"}.isdisjoint(parts) or os.path.lexists(
        os.path.join(environment, "pyvenv.cfg")
    )


def _program_files(line: CommandLine) -> Iterator[Lead]:
    """Where a program of this name would lie in the workspace, and what a Python loads there."""
    program = line.words[0]
    for place in [""] if os.sep in program else line.places_inside():
        path = line.at(os.path.join(place, program))
        yield f"program:{os.path.join(place, program)}", path
        if is_python(program) and os.path.lexists(reached(path)) and line.holds(path):
            yield from loaded_in(os.path.dirname(os.path.dirname(path)))


def _programs_of_entry(line: CommandLine) -> Iterator[Lead]:
    """The folders of the workspace that a line has its programs, and theirs, looked for in."""
    for place in line.places_inside() if "PATH" in line.env else ():
        yield f"folder:{place}", landed(line.at(place))


def _found_program(line: CommandLine) -> str:
    program = line.words[0]
    return next(line.programs(program), "") or line.at(program)


def _script(line: CommandLine, words: Sequence[str], program: str) -> Leads:
    """A script, and words that are its own to understand."""
    script = words[0] if words else "-"
    if script.startswith("-"):
        raise Unfollowed(UNREAD)
    is_own = line.is_own_file(script)
    if is_own and not _is_installed(landed(line.at(script))):
        return Leads(files=((script, line.at(script)), *named_files(line.folder, words[1:])))
    if (is_own or not line.holds(script)) and _SERVER.fullmatch(os.path.basename(script)):
        return foreign_words(line, words[1:]).with_those(Leads(files=((script, line.at(script)),)))
    raise Unfollowed(f"`{script}` is no file of this folder that `{program}` would run as it is")


def _shell(line: CommandLine, depth: int) -> Leads:
    words = _after(line.words[1:], _SHELL_FLAGS)
    if words and _SHELL_TEXT.fullmatch(words[0]):
        if len(words) != len(("-c", "TEXT")):
            raise Unfollowed(UNREAD)
        found = Leads()
        for inner in lines_in(words[1], line):
            found = found.with_those(followed(inner, depth + 1))
        return found
    return _script(line, words, "a shell")


def _python(line: CommandLine) -> Leads:
    words = _after(line.words[1:], _PYTHON_FLAGS)
    flags = "".join(line.words[1 : len(line.words) - len(words)])
    if words and (found := _PYTHON_MODULE.fullmatch(words[0])):
        module, rest = (found[2], words[1:]) if found[2] else ("".join(words[1:2]), words[2:])
        return _module(line, module, rest, is_apart=not _APART.isdisjoint(flags + found[1]))
    if words and line.is_own_folder(words[0]) and line.is_own_file(f"{words[0]}/__main__.py"):
        folder = (f"folder:{words[0]}", landed(line.at(words[0])))
        return Leads(files=tuple(named_files(line.folder, words[1:])), folders=(folder,))
    return _script(line, words, "Python")


def _module(line: CommandLine, module: str, words: Sequence[str], *, is_apart: bool) -> Leads:
    """A module of the workspace, which stands before any other of its name; or a server."""
    top = module.partition(".")[0]
    is_known = bool(_MODULE.fullmatch(module)) and top not in sys.stdlib_module_names
    if is_known and not is_apart and _is_own_module(line, top):
        files = [*_module_files(line, top), *named_files(line.folder, words)]
        folders = [(f"folder:{top}", landed(line.at(top)))] if line.is_own_folder(top) else []
        return Leads(files=tuple(files), folders=tuple(folders))
    # Python takes a folder of that name where nothing of it is installed.
    leads_here = leads_by_name(line, top) or line.is_own_folder(top)
    if is_known and _SERVER.fullmatch(top) and not leads_here:
        return foreign_words(line, words)
    raise Unfollowed(f"`{module}` is no module of this folder, and may run one that is")


def _is_own_module(line: CommandLine, top: str) -> bool:
    # A folder without the first file counts only where no other module has its name.
    return line.is_own_file(f"{top}.py") or (
        line.is_own_folder(top) and line.is_own_file(f"{top}/__init__.py")
    )


def _module_files(line: CommandLine, top: str) -> Iterator[Lead]:
    """What Python may load by a name: a source, machine code, or bytecode without a source."""
    yield f"module:{top}.py", line.at(f"{top}.py")
    for name in names_in(line.folder):
        if name.startswith(f"{top}.") and name.endswith(_LOADED):
            yield f"module:{name}", line.at(name)


def _node(line: CommandLine) -> Leads:
    return _script(line, _after(line.words[1:], _NODE_FLAGS), "Node")


def _interpreter(line: CommandLine) -> Leads:
    return _script(line, line.words[1:], os.path.basename(line.words[0]))


def _uv(line: CommandLine) -> Leads:
    """A file, a module or a script of a project of the workspace."""
    words, folder, has_run = [*line.words[1:]], "", False
    while words:
        option, joined, value = words[0].partition("=")
        if words[0] == "run" and not has_run:
            has_run = True
            words.pop(0)
        elif option == "--directory" and not folder and (joined or words[1:]):
            folder = value if joined else words[1]
            del words[: 1 if joined else 2]
        elif option in ("-p", "--python", "--with", "--extra", "--group") and words[1:]:
            if joined or not (_is_package(words[1]) and not leads_by_name(line, words[1])):
                raise Unfollowed(f"nobody can tell what `{option}` of uv adds")
            del words[:2]
        elif _UV_FLAGS.fullmatch(words[0]):
            words.pop(0)
        else:
            break
    if not words or not has_run or (folder and not line.is_own_folder(folder)):
        raise Unfollowed("uv is told to do something else than to run code of this folder")
    at = line.saying(words, line.at(folder or "."))
    project = Leads(files=tuple(files_of_projects(at.upwards(), "uv")))
    return project.with_those(_in_project(at, words))


def _in_project(line: CommandLine, words: Sequence[str]) -> Leads:
    target = words[0]
    if target in ("-m", "--module") and words[1:]:
        return _module(line, words[1], words[2:], is_apart=False)
    if is_python(target) and os.sep not in target:
        return _python(line)
    if target.endswith(".py") and line.is_own_file(target):
        return _script(line, words, "uv")
    module = script_module(line.upwards(), target)
    for place in ("src", "."):
        inner = line.saying(words, line.at(place))
        if module and _is_own_module(inner, module.partition(".")[0]):
            program = f".venv/bin/{target}"
            found = Leads(files=((f"program:{program}", line.at(program)),))
            return found.with_those(_module(inner, module, words[1:], is_apart=False))
    raise Unfollowed(f"`{target}` is no file, module or script of this project")


def _package(line: CommandLine) -> Leads:
    """A package of a registry that is a server by its name."""
    words, runner, named = [*line.words[1:]], os.path.basename(line.words[0]), list[str]()
    while words and words[0].startswith("-"):
        option, joined, value = words[0].partition("=")
        if _PACKAGE_FLAGS.fullmatch(words[0]):
            words.pop(0)
        elif option in ("--from", "--with", "--package", "-p", "--python") and words[1:]:
            named.append(value if joined else words[1])
            del words[: 1 if joined else 2]
        else:
            raise Unfollowed(f"nobody can tell what `{option}` of {runner} does")
    named += words[:1]
    for each in named:
        if not _is_package(each):
            raise Unfollowed(f"`{each}` is no package of a registry")
    # With a package that is named apart, any program of the machine may be what is started.
    servers = [each for each in named if _SERVER.fullmatch(each)]
    programs = {os.path.basename(_bare(each)) for each in servers}
    if not words or not (words[0] in servers or words[0] in programs):
        raise Unfollowed(f"nothing says that `{''.join(words[:1])}` takes no code from this folder")
    files = [*files_of_projects(line.upwards(), runner, named)]
    for place in line.upwards():
        programs = f"{place}/node_modules/.bin"
        names = {words[0], os.path.basename(_bare(words[0]))}
        files += ((f"program:{each}", f"{programs}/{each}") for each in sorted(names))
    folders = [
        (f"folder:{os.path.relpath(path, line.root)}", landed(path))
        for place in line.upwards()
        for each in named
        if os.path.isdir(path := landed(f"{place}/node_modules/{_bare(each)}"))
    ]
    found = Leads(files=tuple(files), folders=tuple(folders))
    return found.with_those(foreign_words(line, words[1:]))


def _is_package(name: str) -> bool:
    return bool(_PACKAGE.fullmatch(name)) and not _ARCHIVE.fullmatch(name)


def _bare(name: str) -> str:
    """A package without its version."""
    return name[0] + re.split(r"[@\[=<>~!]", name[1:], maxsplit=1)[0]


def _container(line: CommandLine) -> Leads:
    """An image, which sees nothing of the workspace."""
    words = [*line.words[1:]]
    if words[:1] != ["run"]:
        raise Unfollowed("it is told to do something else than to run an image")
    words.pop(0)
    files: list[Lead] = []
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in _CONTAINER_VALUES and words:
            files += named_files(line.folder, [words.pop(0)])
        elif _CONTAINER_FLAGS.fullmatch(option):
            files += named_files(line.folder, [option])
        else:
            raise Unfollowed(f"nobody can tell what `{option}` lets the container see")
    if not words or not _IMAGE.fullmatch(words[0]):
        raise Unfollowed("it names no image")
    return Leads(files=tuple(files))


def _after(words: Sequence[str], flags: re.Pattern[str]) -> list[str]:
    """What stands behind options of a kind."""
    at = 0
    while at < len(words) and flags.fullmatch(words[at]):
        at += 1
    return [*words[at:]]


_KNOWN: Mapping[tuple[str, ...], _Follow] = {
    ("node", "nodejs"): _node,
    ("ruby", "perl", "lua"): _interpreter,
    ("uv",): _uv,
    ("npx", "uvx"): _package,
    ("docker", "podman"): _container,
}
