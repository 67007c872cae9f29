"""Single messages that were erased and must not come back, and the further parts of long answers on Discord."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0013_categories_and_key_servers")]

    operations = [
        migrations.CreateModel(
            name="ErasedMessage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("message_id", models.BigIntegerField(help_text="Discord's id.")),
                ("subject", models.CharField(help_text="Keyed hash of the owner's id.", max_length=32)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("message_id", "subject"), name="erased_message_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="MessagePart",
            fields=[
                ("discord_id", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="memory.message",
                    ),
                ),
            ],
        ),
    ]
