"""How somebody may log in, for each verb that does."""

from switchkit.cli.usage import Option


def login_options(whose: str = "") -> tuple[Option, ...]:
    """The options of a login; `whose` says before each which part of a verb it belongs to."""
    return (
        Option(name="no-browser", about=f"{whose}open no browser, and take a pasted answer too"),
        Option(name="device", about=f"{whose}show a code to enter on another device"),
        Option(name="scope", value="SCOPE", about=f"{whose}ask for this scope too", many=True),
        Option(name="port", value="N", about=f"{whose}the port that the browser is led back to"),
    )


def account_option(whose: str = "") -> Option:
    """The option of whoever logs in or out."""
    about = f"{whose}which account of a server that has several"
    return Option(name="account", value="A", about=about)
