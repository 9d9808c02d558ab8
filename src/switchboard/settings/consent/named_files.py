"""Which files a command line leads to, by the ways in which programs find what they are to run."""

import os
import re
from collections.abc import Container, Iterator, Sequence

from switchboard.children.schema import Seal
from switchboard.settings.consent.command_words import (
    ENDINGS,
    ENGINES,
    INTERPRETERS,
    PLAIN,
    PLAIN_OF_ENGINES,
    RUNNERS,
    pieces,
    program_name,
    runs_text,
    spoken,
)
from switchboard.settings.consent.control_files import controls_of, files_of_git
from switchboard.settings.consent.data_files import data_paths, is_data_variable
from switchboard.settings.consent.looking import (
    Unbound,
    Unspelt,
    counted,
    landed,
    looking,
    names_in,
    reached,
    resolved,
)
from switchboard.settings.consent.node_files import loaded_by_node, packages_of_node
from switchboard.settings.consent.spellings import matched, meant
from switchboard.settings.secret_rules import loads_code

# What Python loads: in the place of a source, and before it has read a line.
_LOADED = (".py", ".pyc", ".pyo", ".pyw", ".so", ".pyd", ".dylib")
_CUSTOMIZERS = ("sitecustomize", "usercustomize")
_MOST_PROJECTS = 32
# Where runners put programs.
_BINS = ("node_modules/.bin", ".venv/bin")
_INCLUDES = ("-I", "--include-dir")
# `-m` with other switches before it, and the name of a module behind it.
_MODULE = re.compile(r"-[bBdEiIOPqRsSuvx]*m(.*)")
_IMPORTED = re.compile(r"\b(?:import|from)[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*)")
# What runs files that it finds, or that another file names, and code that stands in an address.
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_CODE_ADDRESS = re.compile(r"data:(?:text|application)/")
_SETS = re.compile(r"(\w+)=(.+)")


def is_runner(seal: Seal) -> bool:
    """Whether what runs may be decided by files that no word names.

    So it is with every program that is not known to take everything from its words.
    """
    return bool(seal.words) and (_is_known_runner(seal) or not _is_plain(seal.words))


def _is_known_runner(seal: Seal) -> bool:
    programs = {os.path.basename(word) for word in seal.words}
    programs |= {os.path.basename(each) for word in seal.words for each in pieces(word)}
    # The last is how Node runs a script of its manifest.
    return not programs.isdisjoint(RUNNERS) or runs_text(seal.words) or "--run" in seal.words


def _is_plain(words: Sequence[str]) -> bool:
    program = os.path.basename(words[0])
    if program in ENGINES:
        does = next((word for word in words[1:] if not word.startswith("-")), "")
        return does in PLAIN_OF_ENGINES
    # What an interpreter runs is named, and may load more: see `is_interpreter`.
    return program in PLAIN or program_name(program) in INTERPRETERS


def is_interpreter(seal: Seal) -> bool:
    """Whether what runs is code that can load more code."""
    return any(program_name(word) in INTERPRETERS for word in (*seal.words, *spoken(seal.words)))


def named_files(seal: Seal, workspace: str) -> Iterator[tuple[str, str]]:
    """What the command line leads to, under a name, with its path as it is named.

    The words themselves come first, each under itself. What it only works on is left out.
    """
    folder = seal.cwd or workspace
    words = _words(seal)
    told = _told(seal, folder)
    led = [*words, *told, *_values(seal, folder)]
    projects = ["", *_projects(led, folder)]
    data = _data(seal, workspace, projects)
    for name, path in _of_words(seal, led, workspace, data, projects):
        if not data or os.path.normpath(path) not in data:
            yield name, path
    said = spoken([*words, *told])
    _refuse_finders(seal, [*words, *told])
    for path in matched(_globs(words, told), [os.path.join(folder, each) for each in projects]):
        yield f"part:{os.path.relpath(path, folder)}", path
    for project in projects:
        yield from _modules(seal, said, folder, project)
        yield from loaded_by_node(said, os.path.join(folder, project))
        yield from _loaded_by_pythons(seal, said, os.path.join(folder, project), workspace)
    yield from _sources(words, folder, projects)
    yield from _controls(seal, said, folder, projects)


def _controls(
    seal: Seal, said: Sequence[str], folder: str, projects: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What programs obey without being told its name."""
    obeys = is_runner(seal) or any(word in (".", "./") for word in seal.words)
    is_known = _is_known_runner(seal)
    has_git = any(os.path.basename(word) == "git" for word in said)
    for project in projects:
        place = os.path.join(folder, project)
        names = [*controls_of(place, known=is_known)] if obeys else []
        names += files_of_git(place) if has_git else ()
        for within in (os.path.join(project, name) for name in names):
            yield f"control:{within}", os.path.join(folder, within)


def _words(seal: Seal) -> list[str]:
    return [word for word in seal.words if word and "\0" not in word]


def _told(seal: Seal, folder: str) -> list[str]:
    """What the texts for shells in a command line say, expanded. Raises `Unspelt`."""
    known, key = looking().known, ("told", seal, folder)
    if key not in known:
        # From wherever it is in the workspace by then, and not by the whole path.
        known[key] = [
            f".{word[len(folder) :]}" if (word + os.sep).startswith(folder + os.sep) else word
            for word in meant(_words(seal), dict(seal.env))
            if word and "\0" not in word
        ]
    return known[key]


def _values(seal: Seal, folder: str) -> Iterator[str]:
    """What variables lead to, but for what a server works on."""
    for name, value in seal.env:
        is_data = is_data_variable(name, os.path.join(folder, value), seal.words)
        if value and name != "PATH" and "\0" not in value and not is_data:
            yield value


def _globs(words: Sequence[str], told: Sequence[str]) -> list[str]:
    """The words in which a glob counts: of a shell, and of what expands them itself."""
    is_java = any(program_name(word) == "java" for word in words)
    return [*told, *(piece for word in words for piece in pieces(word) if is_java)]


def _refuse_finders(seal: Seal, words: Sequence[str]) -> None:
    """Nobody can name what these run. Raises `Unspelt`."""
    programs = {os.path.basename(word) for word in words}
    is_parallel = os.path.basename(words[0]) == "parallel" if words else False
    if is_parallel or "xargs" in programs or not {*words}.isdisjoint(_FIND_RUNS):
        raise Unspelt
    if is_interpreter(seal) and any(_CODE_ADDRESS.search(word) for word in seal.words):
        raise Unspelt


def _data(seal: Seal, workspace: str, projects: Sequence[str]) -> dict[str, str]:
    folders = [os.path.join(seal.cwd or workspace, each) for each in projects]
    path = counted(seal.path.split(os.pathsep) if seal.path else os.get_exec_path())
    return data_paths(_words(seal), folders, [*_BINS, *_inside(seal, workspace), *path])


def _projects(words: Sequence[str], folder: str) -> Iterator[str]:
    """The folders that a program may be sent to: `make -C DIR`, `npm --prefix DIR`, `cd DIR`.

    By no option in particular, for each program has its own. One folder may count from another, as
    with two `-C` of `make`. Raises `Unbound` where there are too many.
    """
    found = [""]
    for piece in counted(piece for word in words for piece in pieces(word)):
        for within in found[:]:
            place = os.path.normpath(os.path.join(within, piece))
            if place not in (".", *found) and os.path.isdir(landed(os.path.join(folder, place))):
                found.append(place)
                if len(found) > _MOST_PROJECTS:
                    raise Unbound
                yield place


def _of_words(
    seal: Seal,
    words: Sequence[str],
    workspace: str,
    data: Container[str],
    projects: Sequence[str],
) -> Iterator[tuple[str, str]]:
    folder = seal.cwd or workspace
    for word in _words(seal):
        yield word, os.path.join(folder, word)
    endings = ("", *ENDINGS) if is_interpreter(seal) else ("",)
    # Where runners, and the PATH of an entry or of its user, look for a name.
    places = [*_BINS, *_inside(seal, workspace)]
    places += (os.path.join(each, place) for each in projects[1:] for place in _BINS)
    for word in words:
        for piece in pieces(word):
            for project in projects if not os.path.isabs(piece) else projects[:1]:
                within = os.path.join(project, piece)
                # Nor is what an interpreter would make of its name.
                if not data or os.path.normpath(os.path.join(folder, within)) not in data:
                    for ending in endings if not piece.startswith("-") else ("",):
                        if ending or within != word or word not in seal.words:
                            yield f"part:{within}{ending}", os.path.join(folder, within + ending)
            if os.sep not in piece:
                for place in places:
                    yield f"program:{place}/{piece}", os.path.join(folder, place, piece)


def _sources(
    words: Sequence[str], folder: str, projects: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What is taken from a folder without its name: by `go run`, `make -I`, `run-parts`."""
    said = spoken(words)
    programs = {os.path.basename(word) for word in said}
    is_go, is_make = "go" in programs, not programs.isdisjoint(("make", "gmake"))
    included = is_make and any(word.startswith(_INCLUDES) for word in said)
    included = included or "run-parts" in programs
    for project in projects if is_go or included else ():
        for name in names_in(os.path.join(folder, project)):
            if (is_go and name.endswith((".go", ".s", ".c", ".h"))) or (included and project):
                within = os.path.join(project, name)
                yield f"part:{within}", os.path.join(folder, within)


def named_data(seal: Seal, workspace: str) -> Iterator[str]:
    """What the command line only works on, as it is written. Raises `Unbound`."""
    folder = seal.cwd or workspace
    led = [*_words(seal), *_told(seal, folder), *_values(seal, folder)]
    projects = ["", *_projects(led, folder)]
    yield from dict.fromkeys(_data(seal, workspace, projects).values())


def named_folders(seal: Seal, workspace: str) -> Iterator[tuple[str, str]]:
    """The folders of the workspace that are run as a whole: as a package, or as a project."""
    folder = seal.cwd or workspace
    root = os.path.realpath(workspace)
    told = _told(seal, folder)
    said = spoken([*_words(seal), *told])
    found: list[tuple[str, str]] = []
    for project in ("", *_projects([*_words(seal), *told, *_values(seal, folder)], folder)):
        place = os.path.join(folder, project)
        inner = [
            (name, os.path.splitext(path)[0])
            for name, path in _modules(seal, said, folder, project)
        ]
        for words in (seal.words, said) if said != [*seal.words] else (seal.words,):
            inner += _code_folders_of(words, place)
            inner += counted(packages_of_node(words, place))
        inner += counted(_loaded_by_variables([*seal.words, *told], place))
        found += ((os.path.join(project, name), path) for name, path in inner)
    for name, path in found:
        if "\0" in path or not os.path.isdir(real := landed(path)):
            continue
        named = os.path.normpath(path)
        # A link of the workspace that leads out of it brings what lies there.
        if real.startswith(root + os.sep) or (
            named.startswith(workspace.rstrip(os.sep) + os.sep) and real != root
        ):
            yield f"folder:{name}", real


def _loaded_by_variables(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """The folders that a word such as `PYTHONPATH=lib` of `env` makes programs load from."""
    for word in words:
        sets = _SETS.fullmatch(word)
        if sets is not None and loads_code(sets[1], repository=True):
            for each in filter(None, sets[2].split(os.pathsep)):
                yield each, os.path.join(folder, each)


def _code_folders_of(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    parts: list[list[str]] | None = None
    for at, word in enumerate(words):
        if program_name(word) in INTERPRETERS:
            parts = parts or [[*pieces(each)] for each in words]
            yield from counted(_code_folders(words[at + 1 :], parts[at + 1 :], folder))


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


def _modules(
    seal: Seal, words: Sequence[str], folder: str, project: str
) -> Iterator[tuple[str, str]]:
    """What `-m name` or `import name` may be: a file or a package beside it, and its bytecode."""
    for module in dict.fromkeys(_named_modules(seal, words)):
        top = module.split(".", 1)[0].split(":", 1)[0]
        for place in (project, os.path.join(project, "src")):
            yield f"module:{place}:{top}", os.path.join(folder, place, f"{top}.py")
            inner = os.path.join(folder, place, *module.split("."))
            yield f"module:{place}:{module}", f"{inner}.py"
            yield from _instead_of(top, folder, place)
            if not seal.shuts_bytecode:
                yield from _instead_of(top, folder, os.path.join(place, "__pycache__"))


def _named_modules(seal: Seal, words: Sequence[str]) -> Iterator[str]:
    for word, after in zip(words, (*words[1:], ""), strict=False):
        if (found := _MODULE.fullmatch(word)) is not None:
            module = found[1] or after
            if module and not module.startswith("-"):
                yield module
    if any(program_name(word) in ("python", "pypy") for word in words):
        for names in (found for word in seal.words for found in _IMPORTED.findall(word)):
            yield from (name for name in re.split(r"[ \t,]+", names) if name.strip("."))


def _instead_of(top: str, folder: str, place: str) -> Iterator[tuple[str, str]]:
    """What Python would load in the place of a source: machine code, or bytecode without one."""
    for name in names_in(os.path.join(folder, place)):
        if name.startswith(f"{top}.") and name.endswith(_LOADED):
            within = os.path.join(place, name)
            yield f"module:{within}", os.path.join(folder, within)


def _loaded_by_pythons(
    seal: Seal, words: Sequence[str], folder: str, workspace: str
) -> Iterator[tuple[str, str]]:
    """What each start of a Python of the workspace loads before anything else."""
    root = workspace.rstrip(os.sep) + os.sep
    inside = [*_inside(seal, workspace)]
    for word in words:
        if program_name(word) not in ("python", "pypy"):
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
