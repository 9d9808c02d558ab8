"""The worker: packs new orders, a few times a second."""

import threading

from query import query

print("worker ready", flush=True)
pause = threading.Event()
while not pause.wait(0.2):
    packed = query("update orders set state = 'packed' where state = 'new' returning item")
    for row in packed:
        print("packed", row[0], flush=True)
