"""A quick HTTP and echo server on one epoll loop, so that the forwarder is what is measured."""

import select
import socket
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def main() -> None:
    """Serve until killed: requests are answered, other bytes are echoed, `S...` is swallowed."""
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
    listener.setblocking(False)
    poller = select.epoll()
    poller.register(listener, select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    swallow: set[int] = set()
    while True:
        for number, _ in poller.poll():
            if number == listener.fileno():
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                clients[client.fileno()] = client
                poller.register(client, select.EPOLLIN)
                continue
            client = clients[number]
            try:
                raw = client.recv(1 << 18)
                if not raw:
                    raise ConnectionResetError
                if number in swallow or raw[:1] == b"S":
                    swallow.add(number)
                    continue
                client.sendall(ANSWER * raw.count(b"\r\n\r\n") if raw[:1] == b"G" else raw)
                if b"Connection: close" in raw:
                    raise ConnectionResetError
            except OSError:
                poller.unregister(client)
                swallow.discard(number)
                clients.pop(number).close()


main()
