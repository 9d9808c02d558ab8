"""The queue: Redis is shared by all branches, so each has a prefix of its own for its keys."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "journal.settings")
app = Celery("journal", broker=os.environ["REDIS_URL"])
app.conf.broker_transport_options = {"global_keyprefix": os.environ["REDIS_URL_PREFIX"]}
app.conf.broker_connection_retry_on_startup = True
app.autodiscover_tasks(["journal"])
