"""What is handed over stays open until the other side has it: on macOS it can be lost else."""

import os
import socket
import threading

from switchboard.control.board_client import BoardClient
from switchboard.control.requests import ListenRequest
from switchboard.ipc.lines import Line


def test_a_listening_socket_is_ours_to_close_only_when_it_is_served() -> None:
    ours, theirs = socket.socketpair()
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening, ours, theirs:
        client = BoardClient(Line(ours, os.getpid()))

        def hand_over() -> None:
            client.listen(listening.fileno(), ListenRequest(host="127.0.0.1", token="x"))
            done.set()

        thread = threading.Thread(target=hand_over)
        thread.start()
        _, files, _, _ = socket.recv_fds(theirs, 65536, 4)
        (received,) = files
        # It has arrived, and still nobody has said so: a word that means something else.
        theirs.sendall(b"beat\n")
        assert not done.is_set()
        assert os.fstat(received).st_ino == os.fstat(listening.fileno()).st_ino
        theirs.sendall(b"listening\n")
        thread.join(30)
        assert done.is_set()
        os.close(received)
