import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0006_blocks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('number', models.BigIntegerField(default=0)),
                ('hash', models.CharField(blank=True, max_length=64)),
                ('seal', models.CharField(blank=True, help_text='Keyed hash over number and hash.', max_length=64)),
                ('doubted_at', models.BigIntegerField(help_text='Number of the entry before which the head was lost or forged.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('number', models.BigIntegerField(help_text='1, 2, 3 and so on without a gap.', primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(help_text='admin:3, member:PSEUDONYM, key:4, command', max_length=60)),
                ('action', models.CharField(help_text='What was done, as a stable code.', max_length=40)),
                ('kind', models.CharField(help_text='What it was done to.', max_length=30)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('guild', models.BigIntegerField(help_text="Discord's id of the server; empty for all, and for private conversations.", null=True)),
                ('result', models.CharField(default='ok', max_length=20)),
                ('counts', models.JSONField(default=dict)),
                ('hash', models.CharField(help_text='SHA-256 over the entry before and this one.', max_length=64)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'indexes': [models.Index(fields=['actor', '-number'], name='audit_actor'), models.Index(fields=['action', '-number'], name='audit_action'), models.Index(fields=['object_id', '-number'], name='audit_object'), models.Index(fields=['guild', '-number'], name='audit_guild'), models.Index(fields=['result', '-number'], name='audit_result')],
            },
        ),
        migrations.CreateModel(
            name='RoleGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('moderator', 'Moderator'), ('privacy', 'Privacy officer'), ('viewer', 'Viewer')], max_length=10)),
                ('server', models.BigIntegerField(default=0, help_text="Discord's id of the server; 0 for all.")),
                ('origin', models.CharField(choices=[('hand', 'given by hand'), ('discord', "from Discord's permissions")], default='hand', max_length=8)),
                ('granted_by', models.CharField(blank=True, help_text='An actor as the audit writes it.', max_length=60)),
                ('granted_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='role_grants', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'role', 'server', 'origin'), name='role_grant_once')],
            },
        ),
    ]
