"""Why a server did not start, where its own words say so, and what helps."""

import re
from typing import NamedTuple

from switchboard.children.starting.runners import fetches_packages, name_of


class Cause(NamedTuple):
    """What is wrong, and what to do about it."""

    what: str
    fix: str


_CERTIFICATE = (
    r"self[- _]signed|SELF_SIGNED|CERTIFICATE_VERIFY_FAILED|certificate verify failed"
    r"|UNABLE_TO_(?:VERIFY|GET_ISSUER)|unable to (?:get local issuer|verify the first)"
    r"|invalid peer certificate|UnknownIssuer|certificate signed by unknown authority"
)
_UNREACHED = (
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b"
    r"|dns error|Could not resolve|Temporary failure in name resolution|tunneling socket"
    r"|Network (?:is )?unreachable|Failed to fetch|network (?:was|is) disabled|Proxy Authentication"
)
_NO_PACKAGE = (
    r"\bE404\b|404 Not Found|could not be found in the (?:registry|package)|No solution found"
    r"|was not found in the package registry|No matching distribution|Could not find a version"
    r"|could not determine executable to run"
)
_OLD_NODE = (
    r"EBADENGINE|Unsupported engine|ERR_UNKNOWN_BUILTIN_MODULE|requires? Node(?:\.js)?"
    r"|Node(?:\.js)? (?:version )?v?\d[\d.]* (?:or (?:higher|newer|later) )?is required"
    r"|No such built-in module"
)
# Node says at the end of every crash which one it is; npm says it of the one that it found.
_NODE_FOUND = r"(?:Node\.js |node: ')v(\d+\.\d+\.\d+)"
_OLD_PYTHON = (
    r"does not satisfy Python|requires a different Python|No interpreter found for Python"
    r"|requires Python ?[>=<~]"
)
_NO_PYTHON_MODULE = r"No module named '?([\w.]{1,80})"
_NO_NODE_MODULE = r"Cannot find (?:module|package) '|ERR_MODULE_NOT_FOUND|\bMODULE_NOT_FOUND\b"
_NO_DOCKER = r"Cannot connect to the Docker daemon|docker daemon is not running"
_VARIABLE = r"([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})\b"
_NO_VARIABLE = (
    rf"\b{_VARIABLE}[`'\"]? (?:environment variable )?(?:is|must be) "
    r"(?:required|missing|not set|set|defined|provided)"
    r"|(?i:missing|set|requires?|no)(?: the)?(?: required)? "
    rf"(?i:env(?:ironment)? var(?:iable)?s?):? [`'\"]?{_VARIABLE}"
)
_PYTHON_FOUND = r"(?:current Python version \(|different Python: )(\d+\.\d+(?:\.\d+)?)"


def known_cause(command: str, words: str) -> Cause | None:
    """The cause that a program's own words name, if it is one of the usual ones."""
    runner = name_of(command)
    if re.search(_CERTIFICATE, words):
        return Cause(
            f"`{runner}` does not believe the certificate that it was shown",
            "behind a proxy that looks into TLS, export NODE_EXTRA_CA_CERTS, SSL_CERT_FILE and"
            " REQUESTS_CA_BUNDLE with the file of its authority where your host starts",
        )
    if (version := _another_version(words)) is not None:
        return version
    return (_of_a_runner(runner, words) if fetches_packages(command) else None) or _lacking(words)


def _of_a_runner(runner: str, words: str) -> Cause | None:
    """A package that is not there, or a registry."""
    # Before the network: what is not there is not fetched either.
    if re.search(_NO_PACKAGE, words):
        return Cause(
            f"`{runner}` does not find the package", "correct the name of the package in `args`"
        )
    if re.search(_UNREACHED, words):
        return Cause(
            f"`{runner}` does not reach its registry",
            "export HTTPS_PROXY where your host starts if there is a proxy; in a sandbox the"
            " entry needs `allow_network`",
        )
    return None


def _lacking(words: str) -> Cause | None:
    """What the server needs and does not find: a file, a module, a service, a variable."""
    if found := re.search(_NO_PYTHON_MODULE, words):
        return Cause(
            f"Python does not find the module `{found[1]}`",
            "correct its name in `args`, or install it for the Python that `command` names",
        )
    if re.search(_NO_NODE_MODULE, words):
        return Cause(
            "Node does not find a file or a module",
            "correct the path in `args`, or install and build the server where it lies",
        )
    if re.search(_NO_DOCKER, words):
        return Cause("Docker is not running", "start Docker, then call again")
    if found := re.search(_NO_VARIABLE, words):
        name = found[1] or found[2]
        return Cause(
            f"it wants the variable `{name}`",
            f'export {name}=…, and write "secret_env": {{"{name}": "env:{name}"}} into its entry',
        )
    return None


def _another_version(words: str) -> Cause | None:
    """A server that is for another Node or Python than the one that was found."""
    if re.search(_OLD_NODE, words):
        found = re.search(_NODE_FOUND, words)
        which = f"found is {found[1]}" if found else "`node --version` says which one is found"
        return Cause(
            "it needs another version of Node",
            f"install it ({which}), or name it by its full path",
        )
    # Before a missing package: uv says of both that there is no solution.
    if re.search(_OLD_PYTHON, words):
        found = re.search(_PYTHON_FOUND, words)
        which = f"found is {found[1]}" if found else "`python3 --version` says which one is found"
        return Cause(
            "it needs another version of Python",
            f'install it ({which}); for `uvx`, "--python" and the version stand before the package'
            " in `args`",
        )
    return None
