from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0007_roles_and_audit")]

    operations = []
