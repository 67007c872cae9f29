from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0009_erasure_requests")]

    operations = []
