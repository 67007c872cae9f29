from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0010_channel_policies")]

    operations = []
