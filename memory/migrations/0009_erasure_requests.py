from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memory", "0008_sign_in")]

    operations = []
