"""How files write the way to a server, in our words (`children.schema.Transport`)."""

# `type`, as the READMEs of servers and other hosts write it.
TRANSPORTS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
# The same in files of other hosts, some of which only say where a server runs.
FOREIGN_TRANSPORTS = {**TRANSPORTS, "local": "stdio", "remote": "http"}
