"""What must hold for the secrets that a server names, and for the variables that it is given."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from switchboard.children.secrets.texts import is_reference
from switchboard.config.key_positions import KeyPath
from switchboard.config.placeholders import vault_references_in
from switchboard.config.problems import Severity
from switchboard.vault.references import ENV_PATTERN, HEADER_PATTERN, SCHEME

# Says a problem at a field of the server; the layers know where that field was written.
Say = Callable[[KeyPath, str, str, Severity], None]

# A value of these makes the child load foreign code before its own first line.
_LOADER_KEYS = frozenset({"NODE_OPTIONS", "PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "LD_AUDIT"})
_LOADER_STARTS = ("DYLD_",)
# Further ones that a repository must not set for whoever opens it: where programs look for their
# settings, for code and for other programs, and what they start by themselves.
_REPOSITORY_KEYS = frozenset(
    (
        # Not ENV: a file that it names is bound, and many projects say `production` with it.
        *("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SHELL", "SHELLOPTS", "BASHOPTS"),
        *("IFS", "CDPATH", "FPATH", "PS4", "PROMPT_COMMAND", "LOCPATH", "NLSPATH", "TERMINFO"),
        *("TERMINFO_DIRS", "TERMCAP", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESS"),
        *("LESSOPEN", "LESSCLOSE", "LESSKEYIN", "LESSKEY", "VIMINIT", "EXINIT", "MYVIMRC"),
        *("CLASSPATH", "PSMODULEPATH", "GUILE_LOAD_PATH", "GUILE_LOAD_COMPILED_PATH", "MYPYPATH"),
        *("EMACSLOADPATH", "AWKPATH", "AWKLIBPATH", "LIBRARY_PATH", "COMPILER_PATH", "CPATH"),
        *("CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"),
        *("KUBECONFIG", "CHROME_PATH", "CHROME_BIN", "CHROMIUM_PATH", "SSLKEYLOGFILE"),
        *("KRB5_CONFIG", "MIX_EXS", "MIX_HOME", "HEX_HOME", "TS_NODE_PROJECT"),
        *("TSX_TSCONFIG_PATH", "TOX_CONFIG_FILE", "AWS_CONFIG_FILE"),
        *("AWS_SHARED_CREDENTIALS_FILE", "CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "BUILDKIT_HOST"),
        *("GOPATH", "GOROOT", "GOBIN", "GOFLAGS", "GOENV", "GOPROXY", "GOSUMDB", "GONOSUMDB"),
        *("GONOSUMCHECK", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOMODCACHE", "GOCACHE"),
        *("GOTOOLCHAIN", "GOTOOLDIR", "GOWORK", "GOVCS", "GOEXPERIMENT", "GOTMPDIR", "GOAUTH"),
        *("GOCACHEPROG", "GODEBUG", "GO111MODULE", "GOOS", "GOARCH", "GCCGO", "GOCOVERDIR"),
    )
)
# No list of names can be complete, so whole families are refused, but for what only sets a tone.
_REPOSITORY_STARTS = (
    *("LD_", "GCONV_", "GLIBC_", "MALLOC_", "PYTHON", "NODE_", "NPM_", "YARN_", "PNPM_", "BUN_"),
    *("DENO_", "PERL", "RUBY", "GEM_", "BUNDLE_", "LUA_", "PHP", "JAVA", "JDK_", "_JAVA", "MAVEN_"),
    *("GRADLE_", "DOTNET_", "CORECLR_", "COMPLUS_", "GIT_", "SSH_", "BASH_", "ZDOTDIR", "UV_"),
    *("PIP_", "PIPX_", "POETRY_", "VIRTUAL_ENV", "CONDA_", "CARGO_", "RUSTC", "CGO_", "MAKE"),
    *(
        "TCL",
        "ELECTRON_",
        "OPENSSL_",
        "GTK_",
        "QT_",
        "R_",
        "JULIA_",
        "ERL_",
        "ELIXIR_",
        "XDG_",
        "GIO_",
    ),
    *("GDK_PIXBUF_", "GST_", "VK_", "COMPOSE_", "DOCKER_", "BUILDX_", "PODMAN_", "CONTAINERS_"),
    *("PYENV_", "RBENV_", "NODENV_", "NVM_", "FNM_", "VOLTA_", "ASDF_", "MISE_", "RTX_", "SDKMAN_"),
    *("COREPACK_", "RUSTUP_", "PDM_", "HATCH_", "PIXI_", "JUST_", "DIRENV_", "NIX_", "VAGRANT_"),
    *("PUPPETEER_EXECUTABLE", "PUPPETEER_BROWSER", "PLAYWRIGHT_BROWSERS", "SCONS", "NINJA_"),
    *("CMAKE_", "ANSIBLE_", "TF_CLI_"),
)
_HARMLESS = frozenset(
    (
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8"),
        *("PYTHONHASHSEED", "PYTHONFAULTHANDLER", "NODE_ENV", "NODE_NO_WARNINGS"),
        *("GIT_TERMINAL_PROMPT", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_PAGER_IN_USE"),
        *("PIP_NO_CACHE_DIR", "UV_NO_PROGRESS", "DOCKER_BUILDKIT"),
    )
)
# What tools with names of their own obey.
_REPOSITORY_ENDS = ("_OPTIONS", "_OPTS", "_PRELOAD", "_STARTUP")
# Variables that are no secrets, and that tell or change too much for a repository to have them.
_NEVER_ASKED = frozenset({"PATH", "HOME", "SHELL", "ENV", "BROWSER"})
_NEVER_STARTS = ("LD_", "PYTHON", "SWITCHBOARD_", "VAULT_")
_PARTS_WITH_ACCOUNT = 5
_SHOWN = (
    *("command", "url", "cwd", "description", "suite_description", "transport", "scope"),
    *("instructions", "tool_prefix"),
)


def judge_references(
    name: str, fields: Mapping[str, Any], say: Say, *, repository: bool, expands: bool
) -> None:
    """A secret is named where nobody reads it, by the server that it belongs to."""
    secrets = cast("Mapping[str, str]", fields.get("secret_env") or {})
    for key, reference in secrets.items():
        judge_reference(name, reference, ("secret_env", key), say, repository=repository)
        if key in cast("Mapping[str, str]", fields.get("env") or {}):
            say(
                ("secret_env", key),
                f"`{key}` is in both `env` and `secret_env`",
                "keep it in `secret_env`",
                "error",
            )
        if loads_code(key, repository=repository):
            message = f"`{key}` can make the server run foreign code and is not allowed here"
            say(("secret_env", key), message, "give the server another variable", "error")
    for key, text in cast("Mapping[str, str]", fields.get("headers") or {}).items():
        if text.startswith(SCHEME) and not is_reference(text):
            say(
                ("headers", key),
                "a header that begins with `vault:` has to be a reference",
                f"write `vault:mcp/{name}/header/{key}`",
                "error",
            )
        elif is_reference(text):
            judge_reference(name, text, ("headers", key), say, repository=repository)
    for account, at, auth in _logins(fields):
        reference, here = str(auth.get("client_secret_ref") or ""), (*at, "client_secret_ref")
        judge_reference(name, reference, here, say, repository=repository)
        parts = reference.split("/")
        # `vault:mcp`, the server, `oauth`, the account and `client-secret`.
        if len(parts) == _PARTS_WITH_ACCOUNT and parts[3] != account:
            own = f"oauth/{account}/client-secret" if account else "oauth/client-secret"
            say(
                here,
                f"`{reference}` belongs to the account `{parts[3]}`",
                f"write `vault:mcp/{name}/{own}`",
                "error",
            )
    if expands:
        _judge_placeholders(name, fields, say)


def _logins(fields: Mapping[str, Any]) -> Iterator[tuple[str, KeyPath, Mapping[str, Any]]]:
    """Each `auth` of a server, with the account that it belongs to, if any, and where it is."""
    if fields.get("auth"):
        yield "", ("auth",), fields["auth"]
    accounts = cast("Mapping[str, Mapping[str, Any]]", fields.get("accounts") or {})
    for account, each in accounts.items():
        yield account, ("accounts", account, "auth"), each.get("auth") or {}


def judge_reference(name: str, reference: str, at: KeyPath, say: Say, *, repository: bool) -> None:
    """A secret belongs to the server that names it."""
    if reference.startswith("vault:mcp/") and reference.split("/")[1] != name:
        wanted = "/".join([f"vault:mcp/{name}", *reference.split("/")[2:]])
        say(at, f"`{reference}` belongs to another server", f"write `{wanted}`", "error")
    variable = reference.removeprefix("env:")
    if repository and variable != reference and _is_no_secret(variable):
        say(
            at,
            f"`{reference}` is not for a server of a workspace",
            "name a variable that holds a secret of this server",
            "error",
        )


def _is_no_secret(variable: str) -> bool:
    return (
        variable in _NEVER_ASKED
        or variable.startswith(_NEVER_STARTS)
        or loads_code(variable, repository=True)
    )


def _judge_placeholders(name: str, fields: Mapping[str, Any], say: Say) -> None:
    """`${vault:…}` may stand in values that only the server is given."""
    for at, text in _texts(fields):
        for reference in vault_references_in(text):
            if at[0] not in ("env", "headers"):
                say(
                    at,
                    f"`${{{reference}}}` does not belong here: others can read this",
                    "put it into `env`, `headers` or `secret_env`",
                    "error",
                )
            elif not re.fullmatch(rf"{ENV_PATTERN}|{HEADER_PATTERN}", reference[len(SCHEME) :]):
                kind, key = ("env", at[-1]) if at[0] == "env" else ("header", at[-1])
                say(
                    at,
                    f"`${{{reference}}}` is not a reference to a secret",
                    f"write `${{vault:mcp/{name}/{kind}/{key}}}`",
                    "error",
                )
            else:
                judge_reference(name, reference, at, say, repository=False)


def _texts(fields: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    for field in ("env", "headers"):
        for key, text in cast("Mapping[str, str]", fields.get(field) or {}).items():
            yield (field, key), text
    for index, text in enumerate(cast("list[str]", fields.get("args") or [])):
        yield ("args", index), text
    for field in _SHOWN:
        yield (field,), str(fields.get(field) or "")
    for _, at, auth in _logins(fields):
        for field, text in auth.items():
            yield (*at, field), str(text)


def loads_code(key: str, *, repository: bool) -> bool:
    """Whether a variable can make a program run foreign code."""
    # Some programs take names without regard to case, as npm does.
    key = key.upper()
    if key in _LOADER_KEYS or key.startswith(_LOADER_STARTS):
        return True
    if not repository or key in _HARMLESS:
        return False
    return key in _REPOSITORY_KEYS or (
        key.startswith(_REPOSITORY_STARTS) or key.endswith(_REPOSITORY_ENDS)
    )
