"""The options that every verb of Switchboard has."""

from switchkit.cli.usage import Option, Program

GLOBAL_OPTIONS = (
    Option(name="json", about="print one JSON document on stdout"),
    Option(
        name="workspace",
        short="-C",
        value="DIR",
        about="work there instead of the current directory",
    ),
    Option(name="config", value="FILE", about="read this file of servers too, above all others"),
    Option(name="skill", value="NAMES", about="use the servers of these skills, with commas"),
    Option(name="home", value="DIR", about="keep settings and trust there, not in ~/.switchboard"),
    Option(name="help", short="-h", about="show this text"),
)

PROGRAM = Program("switchboard", GLOBAL_OPTIONS)
