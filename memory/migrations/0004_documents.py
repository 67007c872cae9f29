from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_history")]

    operations = []
