"""What a verb takes, as data, and a reader of command lines that obeys it.

Every verb of every program is read by this one reader. A parser of the standard library would cost
a server more time than all the rest of its command line; so would named tuples, which are slow to
define.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, dataclass_transform

from switchkit.suggest import did_you_mean

# The shells that completion scripts are made for.
SHELLS = ("bash", "zsh", "fish")


@dataclass_transform(frozen_default=True)
class Value:
    """A frozen value with named fields, which are those that its class annotates."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.__dict__.update(zip(type(self).__annotations__, given, strict=False), **named)

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"`{name}` cannot be changed")


class Option(Value):
    """One `--name`. Without the name of a value it is a switch."""

    name: str
    about: str
    value: str = ""
    short: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()
    # Known, and neither shown nor completed.
    hidden: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name}"


# Known where no verb is typed.
VERSION = Option(name="version", short="-V", about="print the version")


class Word(Value):
    """One word that has its meaning by its place."""

    name: str
    about: str = ""
    optional: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    # Whether the program can say which names there are: see `completion`.
    is_name: bool = False
    # What it begins with, one of these; whatever else is typed in its place is not meant for it.
    begins: tuple[str, ...] = ()


class Usage(Value):
    """Everything that one verb takes."""

    verb: str
    summary: str
    words: tuple[Word, ...] = ()
    options: tuple[Option, ...] = ()
    # The name of what follows `--`; without it, `--` only ends the options.
    rest: str = ""
    details: str = ""
    examples: tuple[str, ...] = ()


class Program(Value):
    """What is typed before a verb, and the options that every verb has."""

    name: str
    options: tuple[Option, ...]


class Arguments(Value):
    """A command line that was read."""

    switches: frozenset[str] = frozenset()
    values: Mapping[str, tuple[str, ...]] = {}
    words: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether a switch or an option was given."""
        return name in self.switches or name in self.values

    def one(self, name: str) -> str | None:
        """The value of an option; of two, the later one."""
        given = self.values.get(name)
        return given[-1] if given else None

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of an option, in order."""
        return self.values.get(name, ())

    def word(self, place: int) -> str:
        """The word at a place, or nothing."""
        return self.words[place] if place < len(self.words) else ""


class UsageError(Exception):
    """The command line cannot be understood. Ends with exit code 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def split_verb(program: Program, words: Sequence[str]) -> tuple[str, list[str]]:
    """The verb, and everything else; options that every verb has may stand before it."""
    takes_value = {
        flag for option in program.options if option.value for flag in (option.flag, option.short)
    }
    place = 0
    while place < len(words):
        word = words[place]
        if not word.startswith("-"):
            return word, [*words[:place], *words[place + 1 :]]
        place += 2 if word in takes_value else 1
    return "", list(words)


def read_arguments(program: Program, usage: Usage, words: Sequence[str]) -> Arguments:
    """The command line of a verb, or `UsageError`."""
    known = {option.flag: option for option in (*usage.options, *program.options)}
    known |= {option.short: option for option in known.values() if option.short}
    switches: set[str] = set()
    values: dict[str, tuple[str, ...]] = {}
    plain: list[str] = []
    queue = list(words)
    rest: list[str] = []
    called = f"{program.name} {usage.verb}".rstrip()
    has_rest = "--" in queue
    if has_rest:
        end = queue.index("--")
        queue, rest = queue[:end], queue[end + 1 :]
    while queue:
        word = queue.pop(0)
        if not word.startswith("-") or word == "-":
            if usage.rest and not has_rest and not _has_place(usage, len(plain), word):
                ours = words[: len(words) - len(queue) - 1]
                raise _missing_dashes(called, usage, ours, [word, *queue])
            plain.append(word)
            continue
        flag, has_value, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            raise _unknown_option(called, flag, known)
        if option.value:
            value = value if has_value else _next_value(option, flag, queue)
            _check_choice(value, option.choices, f"`{flag}`")
            values[option.name] = (*values.get(option.name, ()), value)
        elif has_value:
            raise UsageError(f"`{flag}` takes no value")
        else:
            switches.add(option.name)
    if not usage.rest:
        plain, rest = plain + rest, []
    if "help" not in switches:
        _check_words(called, usage, plain)
    return Arguments(
        switches=frozenset(switches), values=values, words=tuple(plain), rest=tuple(rest)
    )


def _next_value(option: Option, flag: str, queue: list[str]) -> str:
    if not queue or queue[0].startswith("--"):
        raise UsageError(f"`{flag}` needs a value: `{flag} {option.value}`")
    return queue.pop(0)


def _check_words(called: str, usage: Usage, plain: Sequence[str]) -> None:
    for place, word in enumerate(usage.words):
        if place >= len(plain) and not word.optional:
            raise UsageError(f"`{word.name}` is missing", f"{called} --help")
        for given in plain[place:] if word.many else plain[place : place + 1]:
            _check_choice(given, word.choices, f"`{word.name}`")
    unlimited = bool(usage.words) and usage.words[-1].many
    if len(plain) > len(usage.words) and not unlimited:
        extra = plain[len(usage.words)]
        raise UsageError(f"`{extra}` is one word too many for `{called}`", f"{called} --help")


def _has_place(usage: Usage, place: int, word: str) -> bool:
    """Whether a word may stand there; else it begins what should follow `--`."""
    if place >= len(usage.words):
        return bool(usage.words) and usage.words[-1].many
    begins = usage.words[place].begins
    return not begins or word.startswith(begins)


def _missing_dashes(
    called: str, usage: Usage, ours: Sequence[str], theirs: Sequence[str]
) -> UsageError:
    """Says the same command line with `--`. Options of the verb that end it are meant for us."""
    end = len(theirs)
    takes_value = {option.flag: bool(option.value) for option in usage.options}
    for place in range(len(theirs) - 1, 0, -1):
        flag, has_value, _ = theirs[place].partition("=")
        if flag in takes_value and end - place == 1 + (takes_value[flag] and not has_value):
            end = place
    line = [*ours, *theirs[end:], "--", *theirs[:end]]
    return UsageError(
        f"`{theirs[0]}` is one word too many for `{called}`: a command stands after `--`",
        " ".join([called, *map(_quoted, line)]),
    )


def _quoted(word: str) -> str:
    """A word as a shell takes it for one; `shlex` is slow to load for everybody who types right."""
    if word and all(letter.isalnum() or letter in "@%+=:,./_-" for letter in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _check_choice(given: str, choices: Sequence[str], what: str) -> None:
    if choices and given not in choices:
        meant = did_you_mean(given, choices)
        listed = ", ".join(f"`{choice}`" for choice in choices)
        raise UsageError(
            f"{what} cannot be `{given}`",
            f"did you mean `{meant}`?" if meant else f"it is one of {listed}",
        )


def _unknown_option(called: str, flag: str, known: Iterable[str]) -> UsageError:
    meant = did_you_mean(flag, known)
    return UsageError(
        f"`{called}` has no option `{flag}`",
        f"did you mean `{meant}`?" if meant else f"{called} --help",
    )
