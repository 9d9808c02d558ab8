"""The one page: `GET /entries` lists them, `POST /entries` adds one."""

import os

from django.http import HttpRequest, JsonResponse
from django.urls import path

from journal.models import Entry
from journal.tasks import count_words


def entries(request: HttpRequest) -> JsonResponse:
    """List the entries, or add one and have its words counted."""
    if request.method == "POST":
        entry = Entry.objects.create(text=request.body.decode())
        count_words.delay(entry.pk)
        return JsonResponse({"id": entry.pk}, status=201)
    found = list(Entry.objects.order_by("id").values("text", "words"))
    return JsonResponse({"branch": os.environ["SWITCHYARD_BRANCH"], "entries": found})


urlpatterns = [path("entries", entries)]
