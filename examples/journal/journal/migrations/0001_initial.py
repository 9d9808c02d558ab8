"""The first table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the table of entries."""

    initial = True
    operations = (
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.AutoField(primary_key=True)),
                ("text", models.TextField()),
                ("words", models.IntegerField(null=True)),
            ],
        ),
    )
