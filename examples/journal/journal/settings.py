"""The settings of Django; Switchyard says where the database of this branch is."""

import os

SECRET_KEY = "for development only"  # noqa: S105 - it protects nothing
DEBUG = True
ALLOWED_HOSTS = [".localhost", "127.0.0.1"]
ROOT_URLCONF = "journal.views"
INSTALLED_APPS = ["journal"]
MIDDLEWARE: list[str] = []
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["DATABASE_URL"].removeprefix("sqlite:///"),
        "OPTIONS": {"timeout": 20},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
