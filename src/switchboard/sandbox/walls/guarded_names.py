"""Names of files that are secret, and of those that say what runs: the families of each."""

import re

from switchkit.platform.paths import FOLDS_NAMES, folded

# Where `.ENV` is the file that a program finds as `.env`.
_FLAGS = re.IGNORECASE if FOLDS_NAMES else re.NOFLAG

# What programs of the host read and obey: hooks, settings of editors and coding tools, and words
# that steer agents. Whoever could write them would run code outside of the sandbox later.
PROTECTED = (
    # The whole of it: besides hooks and settings, a new `commondir` in it makes git take both from
    # elsewhere, and an interrupted rebase in it runs commands.
    *(".git", ".gitmodules", ".gitconfig", ".gitattributes", ".husky", ".githooks"),
    *(".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml"),
    *(".vscode", ".idea", ".zed", ".vs", ".fleet", ".devcontainer", ".devcontainer.json"),
    *(".cursor", ".cursorrules", ".claude", ".codex", ".agents", ".gemini", ".windsurf"),
    *(".windsurfrules", ".clinerules", ".roo", ".continue", ".kiro", ".amazonq", ".junie"),
    *(".opencode", "opencode.json", ".aider.conf.yml", ".goosehints", ".agh"),
    *("AGENTS.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"),
    *(".mcp.json", "mcp.json", ".switchboard", "switchboard.config.json", "switchyard.toml"),
    *(".github", ".gitlab-ci.yml", ".circleci", ".envrc", "mise.toml", ".mise.toml", ".mise"),
    *(".tool-versions", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs"),
    *("bunfig.toml", ".cargo", ".bazelrc", ".gdbinit", ".lldbinit", ".exrc", ".nvim.lua"),
    # What starts programs and containers by a word, and that no tool writes as it works.
    *("compose.yaml", "compose.yml", "compose.override.yaml", "compose.override.yml"),
    *("docker-compose.yaml", "docker-compose.yml", "docker-compose.override.yaml"),
    *("docker-compose.override.yml", "process-compose.yaml", "process-compose.yml"),
    *("docker-bake.hcl", "docker-bake.json", "Procfile", "Procfile.dev", "Vagrantfile"),
    *("Tiltfile", "skaffold.yaml", "justfile", "Justfile", ".justfile", "Taskfile.yml"),
    *("Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "flake.nix", "shell.nix", "default.nix"),
    *("devenv.nix", "devbox.json", "fastmcp.json", "ecosystem.config.js"),
)
# Directly in a repository every name that begins with a dot is protected but these, which programs
# write as they work.
_WRITTEN = re.compile(
    r"\.(?:cache|.*[-_.]?cache|.*ignore|venv|tox|nox|next|nuxt|turbo|gradle|svelte-kit|output"
    r"|hypothesis|coverage.*|nyc_output|terraform|terraform\.lock\.hcl|dart_tool|build|dist|tmp"
    r"|temp|pnpm-store|eggs|ipynb_checkpoints|history|DS_Store|python_history|.*\.sw[a-p]|nfs.*)",
    _FLAGS,
)
# What holds passwords, tokens and keys, by the families of their names.
_SECRET = re.compile(
    r"\.env(?:rc|[._-].*)?|.+\.env|\.?_?netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.htpasswd"
    r"|\.git-credentials|\.dockercfg|\.s3cfg|\.boto|\.terraformrc|\.vault-token"
    # A key of ssh has no extension; what has one is its public half, or a source file.
    r"|id_[A-Za-z0-9_-]+|.+\.(?:pem|key|p8|pk8|tfvars|p12|pfx|jks|keystore|kdbx|ppk)",
    _FLAGS,
)
# Certificates are for everybody, and programs do not reach anything without them.
_CERTIFICATE = frozenset(
    [
        "ca",
        "cacert",
        "cacerts",
        "cert",
        "certs",
        "certificate",
        "certificates",
        "bundle",
        "chain",
        "fullchain",
        "pub",
        "public",
        "root",
        "roots",
    ]
)
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker"})
# Examples of environment files are part of the source. They say so at the end of their name, or
# just before `.env`; what is made of one, as `.env.default.local`, is no example.
_EXAMPLE = re.compile(
    r"\.env(?:[._-].*)?[._-](?:example|sample|template|dist|defaults?|schema)"
    r"|(?:example|sample|template|dist|defaults?|schema)\.env"
    r"|.+[._-](?:example|sample|template|dist|schema)\.tfvars",
    _FLAGS,
)
# In what others have written, of a repository's settings: a name with a password, or a header.
_TOLD = re.compile(
    rb"://[^/\s@:]*:[^/\s@]+@|://[A-Za-z0-9_\-]{20,}@|extraheader\s*=|(?:password|token)\s*="
)


# As names are compared with them.
PROTECTED_NAMES = frozenset(map(folded, PROTECTED))


def is_secret(name: str) -> bool:
    """Whether a file of this name most likely holds secrets."""
    name = folded(name)
    return (
        _SECRET.fullmatch(name) is not None
        and _EXAMPLE.fullmatch(name) is None
        and not _is_certificate(name)
    )


def _is_certificate(name: str) -> bool:
    """Whether one of the words that a name is made of tells of a certificate."""
    return name.endswith(".pem") and not _CERTIFICATE.isdisjoint(re.split("[._-]", name[:-4]))


def is_secret_folder(name: str) -> bool:
    """Whether a folder of this name holds keys."""
    return folded(name) in _SECRET_FOLDERS


def is_protected(name: str, *, in_repository: bool) -> bool:
    """Whether a file or folder of this name says what runs."""
    if folded(name) in PROTECTED_NAMES:
        return True
    if not in_repository or not name.startswith(".") or is_secret(name):
        return False
    return _WRITTEN.fullmatch(name) is None


def tells_secrets(settings: bytes) -> bool:
    """Whether the settings of a repository hold a password or a token."""
    return _TOLD.search(settings) is not None
