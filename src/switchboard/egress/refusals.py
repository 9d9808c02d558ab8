"""Why a request goes nowhere."""


class EgressRefusal(Exception):
    """The rules do not allow it. `why` is a word for machines, `says` a sentence for people."""

    status = 403
    phrase = "egress-refused"

    def __init__(self, why: str, says: str, host: str = "", port: int = 0) -> None:
        super().__init__(says)
        self.why = why
        self.says = says
        self.host = host
        self.port = port


class Malformed(EgressRefusal):
    """What came is no request that could be judged."""

    status = 400
    phrase = "egress-malformed"

    def __init__(self, says: str) -> None:
        super().__init__("malformed", says)


class Unreached(EgressRefusal):
    """It is allowed, but the other side is not there or does not do as it should."""

    status = 502
    phrase = "egress-unreached"
