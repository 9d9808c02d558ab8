"""The worker: packs new orders, a few times a second."""

import threading

from database import query

print("worker ready", flush=True)
pause = threading.Event()
while not pause.wait(0.1):
    for row in query("update orders set state = 'packed' where state = 'new' returning item"):
        print("packed", row["item"], flush=True)
