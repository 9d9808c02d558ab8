"""The verb `proxy`: names over HTTPS, by an authority that is made and removed here."""

import os
from pathlib import Path

from switchyard.certificates.authority import CertificateAuthority
from switchyard.cli.arguments import YardArguments
from switchyard.cli.report import YardReport
from switchyard.core.environ import base_environment, on_path
from switchyard.core.fault import YardFault
from switchyard.project.configuration import config_of
from switchyard.project.home import default_home
from switchyard.project.scope import ProjectScope, locate
from switchyard.runtime.resolving import names_resolve
from switchyard.worktrees.commands import run_here

_FILE = "switchyard-local.crt"
# Where systems keep what they trust, and what makes them look at it again.
_STORES = (
    (Path("/usr/local/share/ca-certificates"), "update-ca-certificates"),
    (Path("/etc/pki/ca-trust/source/anchors"), "update-ca-trust"),
    (Path("/etc/ca-certificates/trust-source/anchors"), "update-ca-trust"),
)


def _authority() -> CertificateAuthority:
    return CertificateAuthority(default_home().certificates, base_environment(os.environ), run_here)


def _store(arguments: YardArguments) -> tuple[Path, str]:
    """The folder of trusted certificates, and the program to tell."""
    chosen = arguments.value("store")
    if chosen:
        return Path(chosen), ""
    for folder, program in _STORES:
        if folder.is_dir() and on_path(program, os.environ.get("PATH", os.defpath)):
            return folder, program
    raise YardFault(
        "no-store",
        "it is not known where this system keeps the certificates that it trusts",
        hint="have it trust the file that `switchyard proxy` names, by hand",
    )


def _tell(program: str) -> None:
    if program:
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            run_here([program], Path("/"), dict(os.environ), null)
        finally:
            os.close(null)


def _by_hand(certificate: Path, folder: Path, program: str) -> YardFault:
    return YardFault(
        "not-allowed",
        f"{folder} may be written by root alone",
        hint=f"sudo cp {certificate} {folder / _FILE} && sudo {program}",
    )


def _setup(scope: ProjectScope, arguments: YardArguments) -> YardReport:
    config = config_of(scope)
    authority = _authority()
    authority.make(config.proxy.tld)
    trusted: str | None = None
    if arguments.has("trust"):
        folder, program = _store(arguments)
        goal = folder / _FILE
        try:
            goal.write_bytes(authority.certificate.read_bytes())
        except PermissionError:
            raise _by_hand(authority.certificate, folder, program) from None
        _tell(program)
        trusted = str(goal)
    data = {"certificate": str(authority.certificate), "trusted": trusted, **_told(scope)}
    lines = [f"made {authority.certificate}, good for *.localhost alone"]
    lines += (
        [f"trusted by way of {trusted}; Firefox has a store of its own, where you import it"]
        if trusted
        else ["nothing trusts it yet: switchyard proxy setup --trust"]
    )
    lines.append(
        f"after the next `switchyard up`: https://NAME.{config.proxy.tld}:{data['https_port']}"
    )
    return YardReport("proxy", data, lines)


def _remove(arguments: YardArguments) -> YardReport:
    """Undo everything that `setup` did."""
    authority = _authority()
    untrusted: list[str] = []
    chosen = arguments.value("store")
    stores = ((Path(chosen), ""),) if chosen else _STORES
    for folder, program in stores:
        there = folder / _FILE
        if there.is_file():
            try:
                there.unlink()
            except PermissionError:
                raise YardFault(
                    "not-allowed",
                    f"{there} may be removed by root alone",
                    hint=f"sudo rm {there} && sudo {program}",
                ) from None
            _tell(program)
            untrusted.append(str(there))
    was = authority.remove()
    lines = [f"removed {one}" for one in untrusted]
    lines += ["removed the authority and its keys"] if was else []
    return YardReport(
        "proxy", {"removed": was, "untrusted": untrusted}, lines or ["nothing was set up"]
    )


def _told(scope: ProjectScope) -> dict[str, object]:
    proxy = config_of(scope).proxy
    return {
        "port": proxy.port,
        "https_port": proxy.https_port,
        "tld": proxy.tld,
        "names_resolve": names_resolve(proxy.tld),
        "https": _authority().exists,
    }


def _show(scope: ProjectScope) -> YardReport:
    told = _told(scope)
    tld = told["tld"]
    lines = [f"http://SERVICE.BRANCH.PROJECT.{tld}:{told['port']} leads to a service"]
    if not told["names_resolve"]:
        lines += [
            "programs here do not resolve these names, browsers and curl do;",
            "  on Debian: apt install libnss-myhostname",
        ]
    if told["https"]:
        lines.append(f"https://SERVICE.BRANCH.PROJECT.{tld}:{told['https_port']} does so with TLS")
        lines.append("switchyard proxy remove   takes that away again")
    else:
        lines.append("there is no HTTPS; `switchyard proxy setup` makes a certificate authority")
        lines.append("that is good for *.localhost alone, and `--trust` has this system trust it")
    return YardReport("proxy", told, lines)


def run(arguments: YardArguments) -> YardReport:
    """Show how names are served, set HTTPS up, or remove it."""
    what = arguments.words[0] if arguments.words else "show"
    if what == "remove":
        return _remove(arguments)
    scope = locate(arguments.cwd, default_home())
    return _setup(scope, arguments) if what == "setup" else _show(scope)
