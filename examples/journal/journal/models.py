"""What is kept."""

from django.db import models


class Entry(models.Model):
    """A text, and how many words it has once somebody has counted them."""

    text = models.TextField()
    words = models.IntegerField(null=True)

    def __str__(self) -> str:
        """Show its beginning."""
        return self.text[:40]
