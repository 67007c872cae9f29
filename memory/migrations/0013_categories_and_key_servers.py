from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0012_storage")]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="category",
            field=models.ForeignKey(
                blank=True,
                help_text="Whose policies count where the channel has none of its own.",
                null=True,
                on_delete=models.deletion.SET_NULL,
                related_name="channels_below",
                to="memory.channel",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="guilds",
            field=models.JSONField(
                blank=True,
                default=None,
                help_text="Ids of the servers that it is limited to; nothing for no limit.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="consentevent",
            name="action",
            field=models.CharField(
                choices=[
                    ("given", "Given"),
                    ("withdrawn", "Withdrawn"),
                    ("paused", "Paused"),
                    ("resumed", "Resumed"),
                ],
                max_length=10,
            ),
        ),
    ]
