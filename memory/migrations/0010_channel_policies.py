from django.db import migrations, models

RECALLS = [
    ("readers", "everything its readers can read"),
    ("channel", "this channel only"),
    ("nothing", "nothing"),
]
FOR_OTHERS = "For channels that say nothing else."


def inherit(apps, schema_editor):
    """What was never switched off is inherited from now on, which changes nothing yet."""
    channels = apps.get_model("memory", "Channel").objects
    channels.filter(capture_enabled=True).update(capture_enabled=None)
    channels.filter(reply_enabled=True).update(reply_enabled=None)


def say_so(apps, schema_editor):
    channels = apps.get_model("memory", "Channel").objects
    channels.filter(capture_enabled=None).update(capture_enabled=True)
    channels.filter(reply_enabled=None).update(reply_enabled=True)


class Migration(migrations.Migration):
    dependencies = [("memory", "0009_erasure_requests")]

    operations = [
        migrations.AddField(
            model_name="guild",
            name="enabled",
            field=models.BooleanField(
                default=True,
                help_text="Switched off, nothing is stored and nobody is answered, whatever else is set.",
            ),
        ),
        migrations.AlterField(
            model_name="guild",
            name="capture_enabled",
            field=models.BooleanField(default=True, help_text=FOR_OTHERS),
        ),
        migrations.AddField(
            model_name="guild",
            name="reply_enabled",
            field=models.BooleanField(default=True, help_text=FOR_OTHERS),
        ),
        migrations.AddField(
            model_name="guild",
            name="mention_needed",
            field=models.BooleanField(
                blank=True, null=True, help_text="For channels that say nothing else; empty: as configured."
            ),
        ),
        migrations.AddField(
            model_name="guild",
            name="recalls",
            field=models.CharField(max_length=8, choices=RECALLS, default="readers", help_text=FOR_OTHERS),
        ),
        migrations.AddField(
            model_name="guild",
            name="policy_count",
            field=models.PositiveIntegerField(
                default=0,
                help_text="Changes of the policies here and in the channels; the version of the next one.",
            ),
        ),
        migrations.AddField(
            model_name="guild",
            name="policy_version",
            field=models.PositiveIntegerField(
                default=0, help_text="Of the last change of the server's own."
            ),
        ),
        migrations.AlterField(
            model_name="channel",
            name="capture_enabled",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="channel",
            name="reply_enabled",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="channel",
            name="mention_needed",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="channel",
            name="recalls",
            field=models.CharField(max_length=8, choices=RECALLS, blank=True),
        ),
        migrations.AddField(
            model_name="channel",
            name="policy_version",
            field=models.PositiveIntegerField(
                default=0, help_text="Of the last change of its policies, by its server's count."
            ),
        ),
        migrations.RunPython(inherit, say_so),
        migrations.AlterField(
            model_name="embeddingspace",
            name="state",
            field=models.CharField(
                max_length=10,
                choices=[
                    ("building", "Building"),
                    ("active", "Active"),
                    ("kept", "Kept"),
                    ("retired", "Retired"),
                ],
                default="building",
            ),
        ),
        migrations.AddField(
            model_name="embeddingspace",
            name="kept_until",
            field=models.DateTimeField(
                blank=True, null=True, help_text="When vectors that served before are dropped."
            ),
        ),
    ]
