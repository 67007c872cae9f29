"""A table of signs beside the vectors of each space: large guilds are looked through with it. And an index for each filter of the
page of memories.

The signs begin empty where there are vectors, and a worker builds them while everything goes on (work of the kind ``prepare``).
"""

from django.db import migrations, models
from django.utils import timezone


def create(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    alias = schema_editor.connection.alias
    spaces = apps.get_model("memory", "EmbeddingSpace")
    for space in spaces.objects.using(alias).values_list("pk", flat=True):
        schema_editor.execute(
            f"CREATE TABLE IF NOT EXISTS memory_signs_{space} "
            "(block integer PRIMARY KEY, channels blob NOT NULL, bits blob NOT NULL)"
        )
        schema_editor.execute(
            f"INSERT OR IGNORE INTO memory_signs_{space}(block, channels, bits) "
            "VALUES (-1, x'0000000000000000', x'')"
        )
        apps.get_model("memory", "OutboxEntry").objects.using(alias).get_or_create(
            kind="prepare", subject=space, defaults={"due_at": timezone.now(), "created_at": timezone.now()}
        )


def drop(apps, schema_editor):
    if schema_editor.connection.vendor != "sqlite":
        return
    for space in apps.get_model("memory", "EmbeddingSpace").objects.values_list("pk", flat=True):
        schema_editor.execute(f"DROP TABLE IF EXISTS memory_signs_{space}")


class Migration(migrations.Migration):
    dependencies = [("memory", "0010_channel_policies")]

    operations = [
        migrations.RunPython(create, drop),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["source", "-sent_at", "-key"], name="message_source_newest"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["guild", "source", "-sent_at", "-key"], name="message_guild_source"),
        ),
        *[
            migrations.AddIndex(
                model_name="message",
                index=models.Index(
                    fields=fields, condition=models.Q(embedding=embedding), name=f"message_{name}"
                ),
            )
            for embedding in ("pending", "failed", "none")
            for fields, name in (
                (["-sent_at", "-key"], f"{embedding}_newest"),
                (["guild", "-sent_at", "-key"], f"guild_{embedding}"),
            )
        ],
    ]
