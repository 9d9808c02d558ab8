"""Why a request goes nowhere."""

from switchboard.wire.http_hosts import in_url

# Every word that a refusal can have for machines, with what it means. docs/egress.md has the same.
REASONS = {
    "host-not-listed": "the host is not on the list",
    "port-not-listed": "the host is on the list, this port of it is not",
    "method-not-listed": "the method is not among the `methods` of the host",
    "method-override": "a header asks for another method than the request has",
    "host-mismatch": "the request goes to one host and names another",
    "address-not-public": "the name leads to an address that is not public and not on the list",
    "denied": "you said no, less than five minutes ago",
    "never": "you said never",
    "unanswered": "nobody answered the question in time; the next try asks again",
    "too-many-questions": "it asked about too many hosts within an hour",
    "not-asked": "the question could not be put, or not be written down",
    "too-many": "it has too many connections open",
    "no-password": "it was asked for by somebody without the password of this proxy",
    "malformed": "what came is no request that could be judged",
    "timeout": "the host did not answer in time",
    "certificate": "the certificate of the host cannot be believed",
    "tls": "the host does not speak TLS, and a credential travels over TLS only",
    "unreachable": "the host cannot be reached",
    "proxy": "your own proxy does not lead there",
    "proxy-not-yours": "the proxy is named by the client alone, and the request has a credential",
    "credential": "the credential cannot be had",
    "answer": "the host answered with something that cannot be passed on",
}


class EgressRefusal(Exception):
    """The rules do not allow it. `why` is a word for machines, `says` a sentence for people."""

    status = 403
    phrase = "egress-refused"

    def __init__(
        self, why: str, says: str, host: str = "", port: int = 0, *, address: str = ""
    ) -> None:
        assert why in REASONS, why
        super().__init__(says)
        self.why = why
        self.says = says
        self.host = host
        self.port = port
        # What the host leads to, where that is what was refused.
        self.address = address

    @property
    def status_line(self) -> str:
        """What many programs show of it, and nothing else."""
        where = f" {in_url(self.host)}:{self.port}" if self.host else ""
        return f"{self.phrase}: {self.why}{where}" if where else self.phrase


class Malformed(EgressRefusal):
    """What came is no request that could be judged."""

    status = 400
    phrase = "egress-malformed"

    def __init__(self, says: str) -> None:
        super().__init__("malformed", says)


class WithoutPassword(EgressRefusal):
    """Whoever asks may be anybody on the machine."""

    status = 407
    phrase = "egress-password"

    def __init__(self) -> None:
        super().__init__("no-password", "this proxy serves one program, which has its password")


class Unreached(EgressRefusal):
    """It is allowed, but the other side is not there or does not do as it should."""

    status = 502
    phrase = "egress-unreached"
