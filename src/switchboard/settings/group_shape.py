"""What may be said of a group of people."""

from switchboard.config.strict import Items, Table, Text

_WORD = Text(empty=False)
_TOOL = Text(
    pattern=r'(?:"[^"]+"|[^."\s][^.\s]*)\.\S+', says="a name as `server.tool`, with `*` for any"
)

GROUP = Table(
    noun="`[people.groups.NAME]`",
    fields={
        "allow": Items(item=_WORD, about="Show them only these tools, as in `[tools]`."),
        "deny": Items(item=_WORD, about="Never show them these. Deny wins."),
        "server_tools": Items(
            item=_TOOL, about="Of servers show them only these, as `server.tool`."
        ),
        "hidden_server_tools": Items(item=_TOOL, about="Of servers never show them these."),
        "approval_channel": Text(
            choices=("any", "console", "none"),
            about="Who may approve their calls; never looser than for everybody.",
        ),
        "approves_for": Items(
            item=_WORD, about="Groups whose questions they may see and answer; `*` is everybody."
        ),
    },
)
