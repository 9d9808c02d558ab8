"""The words that a shim and a daemon exchange, and how long each waits for the other.

The conversation is lines of text. The client says hello; the daemon may ask for environment
variables (`need NAME PREFIX* …`, answered with one JSON object), and then says one of the words
below. Only after `ready` does the shim hand over its streams, with a ledger of them; `declined` as
the next word says that they were lost on the way. A command may then hand over a listening socket,
or say what it wants to know (`control.requests`).
"""

from switchboard import __version__

MAGIC = "switchboard"
# Rises with every change of the words themselves; the version covers everything else.
PROTOCOL = 6
ABI = f"{__version__}/{PROTOCOL}"

CLIENT = "client"
CONTROL = "control"

# Names the open file on which a new daemon says that it listens, or why it cannot.
READY_VARIABLE = "SWITCHBOARD_READY_FD"

# Names the open files of a ledger (`ipc.ledger`) from which a session goes on.
LEDGER_VARIABLE = "SWITCHBOARD_LEDGER_FDS"

# From the daemon.
NEED = "need"
READY = "ready"
# It is of another version: ask it to drain, then start your own.
OTHER_ABI = "abi"
# It takes no more clients: a new daemon may start.
DRAINING = "draining"
# It cannot serve this client, and says why: do it yourself.
DECLINED = "declined"
# What this client wants cannot be had, of no daemon. A tab stands before what to do about it.
REFUSED = "refused"
BEAT = "beat"
# It serves the socket that it was handed.
LISTENING = "listening"
END = "end"
# It leaves the streams to whoever comes next.
BACK = "back"

# From the client.
DRAIN = "drain"
STREAMS = b"streams\n"
# In `need`: the whole environment, for a server that inherits it.
EVERYTHING = "*"

MAX_HELLO_BYTES = 64 * 1024
MAX_ENVIRONMENT_BYTES = 4 * 1024 * 1024

# How long a stranger may take to say what it wants, and a shim waits for each answer.
GREETING_S = 3.0
# How many times that a shim waits for a daemon that is at work all the while, on a busy machine.
BUSY_GREETINGS = 5
# How long a new daemon may take until it listens.
START_S = 5.0
# How often a daemon shows that it works on a request of a command.
WORKING_S = 1.0
BEAT_S = 5.0
# A daemon that has missed this many beats is frozen.
SILENCE_S = 3 * BEAT_S
SECOND_SILENCE_S = BEAT_S + 1
