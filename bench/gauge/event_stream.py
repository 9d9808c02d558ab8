"""The older HTTP transport: answers come on one event stream, messages are posted beside it."""

import select
import socket
import time
from collections import deque

from .link import Json, LinkLostError, own_answer
from .reply import Reply
from .web import READ_BYTES, Address, ended


class EventLink:
    """Opens the stream at once; raises LinkLostError where it is refused."""

    def __init__(self, address: Address, seconds: float) -> None:
        self._address = address
        self._answers: deque[Json] = deque()
        self._posts: socket.socket | None = None
        self._reply = Reply()
        self._poll = select.poll()
        self._endpoint = ""
        try:
            self._stream = address.connect()
            asked = address.request("GET", address.path, "Accept: text/event-stream\r\n", b"")
            self._stream.sendall(asked)
        except OSError as error:
            raise LinkLostError(f"no event stream: {error}") from error
        self._poll.register(self._stream, select.POLLIN)
        end = time.perf_counter() + seconds
        while not self._endpoint:
            self._read(end - time.perf_counter())
            if self._reply.status >= 400:
                self.close()
                raise LinkLostError(f"the event stream is refused with {self._reply.status}")

    def send(self, body: bytes, *, method: str, name: str | None = None) -> None:
        del method, name
        headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        request = self._address.request("POST", self._endpoint, headers, body)
        try:
            while self._posts is not None and ended(self._posts):
                self._read_post()
            if self._posts is None:
                self._posts = self._address.connect()
                self._poll.register(self._posts, select.POLLIN)
            self._posts.sendall(request)
        except OSError as error:
            raise LinkLostError(f"cannot post: {error}") from error

    def receive(self, seconds: float) -> Json:
        end = time.perf_counter() + seconds
        while not self._answers:
            self._read(end - time.perf_counter())
        return self._answers.popleft()

    def _read(self, seconds: float) -> None:
        ready = self._poll.poll(max(seconds, 0) * 1000)
        if not ready:
            raise LinkLostError("no answer in time")
        for handle, _ in ready:
            if handle == self._stream.fileno():
                self._feed()
            else:
                self._read_post()

    def _read_post(self) -> None:
        """Drop what the server says to a post; the answer itself comes on the stream."""
        if self._posts is not None and not self._posts.recv(READ_BYTES):
            self._poll.unregister(self._posts)
            self._posts.close()
            self._posts = None

    def _feed(self) -> None:
        reply = self._reply
        reply.feed(self._stream.recv(READ_BYTES))
        for name, data in reply.events:
            if name == "endpoint":
                self._endpoint = "/" + data.partition("://")[2].partition("/")[2]
                self._endpoint = data if data.startswith("/") else self._endpoint
        for message in reply.messages:
            if "method" not in message:
                self._answers.append(message)
            elif "id" in message:
                self.send(own_answer(message), method="")
        reply.events.clear()
        reply.messages.clear()

    def settle(self) -> None:
        """Nothing to do: the answers to posts are read as they come."""

    def agreed(self, version: str) -> None:
        """Nothing to do: this transport knows no such header."""

    def close(self) -> None:
        self._stream.close()
        if self._posts is not None:
            self._posts.close()
