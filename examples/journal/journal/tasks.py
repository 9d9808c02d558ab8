"""What is done in the background."""

import os

from journal.models import Entry
from journal.queue import app


@app.task
def count_words(number: int) -> None:
    """Count the words of an entry."""
    entry = Entry.objects.get(pk=number)
    entry.words = len(entry.text.split())
    entry.save()
    print(f"counted {entry.words} on {os.environ['SWITCHYARD_BRANCH']}")
