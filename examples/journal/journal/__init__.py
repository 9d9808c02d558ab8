"""A journal whose entries are counted in the background."""

from journal.queue import app as celery_app

__all__ = ["celery_app"]
