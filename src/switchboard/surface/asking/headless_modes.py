"""How hosts are started without their user, read from the words that they were started with.

Where a word stands decides what it is: `codex exec` runs a command of Codex, while `codex -- exec`
and `codex "please exec this"` are prompts of somebody who sits there. Nor does a word count that an
option takes as its value.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

# What runs a host that is a script.
_INTERPRETERS = frozenset({"node", "bun", "deno"})
_END = "--"


class HeadlessMode(NamedTuple):
    """A host, how it is started without its user, and what it then says to every question."""

    # How its name begins, in its own words, and that of its program.
    client: str
    program: str
    answers: str
    # Options that take the word after them, whatever it looks like, and those that take all words
    # up to the next option.
    valued: frozenset[str]
    many_valued: frozenset[str] = frozenset()
    # Short ones that may have a value: in one word with others it is the rest of that word.
    maybe_valued: frozenset[str] = frozenset()
    # Either of these starts it so: an option anywhere, or the first word that is none.
    options: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()

    def is_of(self, argv: Sequence[str]) -> bool:
        """Whether a process that was started with these words is this host in this mode."""
        words = self._own_words(argv)
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == _END:
                return False
            if not word.startswith("-"):
                if self.commands:
                    return word in self.commands
            elif word in self.many_valued:
                while at < len(words) and not words[at].startswith("-"):
                    at += 1
            elif word in self.valued:
                at += 1
            elif self._is_option(word):
                return True
        return False

    def _is_option(self, word: str) -> bool:
        """Whether it is the option that starts the host so, or short ones with that among them."""
        if word.startswith(_END):
            return word in self.options
        for letter in word[1:]:
            if f"-{letter}" in self.options:
                return True
            if f"-{letter}" in self.valued | self.maybe_valued:
                # What follows is the value of this one.
                return False
        return False

    def _own_words(self, argv: Sequence[str]) -> Sequence[str]:
        """What follows the program; nothing if it is another one."""
        first, *rest = argv or ("",)
        if PurePath(first).name not in _INTERPRETERS:
            return rest if PurePath(first).name.startswith(self.program) else ()
        for at, word in enumerate(rest):
            if not word.startswith("-"):
                # A script has a name of its own, or that of the folder of its package.
                names = PurePath(word).parts[-2:]
                is_own = any(name.startswith(self.program) for name in names)
                return rest[at + 1 :] if is_own else ()
        return ()


# `claude -p` was measured to answer within 10 to 60 ms, `codex exec` within 5.
MODES = (
    HeadlessMode(
        client="claude-code",
        program="claude",
        answers="cancel",
        options=frozenset({"-p", "--print"}),
        valued=frozenset(
            {
                *("--add-dir", "--agent", "--agents", "--allowedTools", "--allowed-tools"),
                *("--append-system-prompt", "--autocompact", "--betas", "--debug-file"),
                *("--disallowedTools", "--disallowed-tools", "--effort", "--environment"),
                *("--fallback-model", "--file", "--input-format", "--json-schema"),
                *("--max-budget-usd", "--mcp-config", "--model", "--name", "-n"),
                *("--output-format", "--permission-mode", "--permission-prompts", "--plugin-dir"),
                *("--plugin-url", "--remote-control-session-name-prefix", "--session-id"),
                *("--setting-sources", "--settings", "--system-prompt"),
                *("--system-prompt-snapshot", "--tools"),
            }
        ),
        maybe_valued=frozenset({"-d", "-r", "-w"}),
    ),
    HeadlessMode(
        client="codex",
        program="codex",
        answers="decline",
        commands=frozenset({"exec", "e", "review"}),
        valued=frozenset(
            {
                *("-c", "--config", "--enable", "--disable", "--remote", "-m", "--model"),
                *("--remote-auth-token-env", "--local-provider", "-p", "--profile", "-s"),
                *("--sandbox", "-C", "--cd", "--add-dir", "-a", "--ask-for-approval"),
            }
        ),
        many_valued=frozenset({"-i", "--image"}),
    ),
)
