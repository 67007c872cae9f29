import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0007_roles_and_audit'),
    ]

    operations = [
        migrations.CreateModel(
            name='ErasedRange',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('subject', models.CharField(db_index=True, help_text="Keyed hash of the member's id.", max_length=32)),
                ('request_id', models.UUIDField()),
                ('guild_id', models.BigIntegerField(null=True)),
                ('channel_id', models.BigIntegerField(null=True)),
                ('since', models.DateTimeField(null=True)),
                ('until', models.DateTimeField(help_text='Not included.', null=True)),
                ('message_id', models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ReplyContext',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.AddField(
            model_name='archivalentry',
            name='source_channel_id',
            field=models.BigIntegerField(blank=True, help_text='The session that was gone through, where it came from one.', null=True),
        ),
        migrations.AddField(
            model_name='archivalentry',
            name='source_first',
            field=models.BigIntegerField(blank=True, help_text='Key of its first message.', null=True),
        ),
        migrations.AddField(
            model_name='archivalentry',
            name='source_last',
            field=models.BigIntegerField(blank=True, help_text='Key of its last message.', null=True),
        ),
        migrations.AddField(
            model_name='blockrevision',
            name='source_channel_id',
            field=models.BigIntegerField(blank=True, help_text='The session that was gone through, where it came from one.', null=True),
        ),
        migrations.AddField(
            model_name='blockrevision',
            name='source_first',
            field=models.BigIntegerField(blank=True, help_text='Key of its first message.', null=True),
        ),
        migrations.AddField(
            model_name='blockrevision',
            name='source_last',
            field=models.BigIntegerField(blank=True, help_text='Key of its last message.', null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='channel_id',
            field=models.BigIntegerField(help_text="Discord's id of the one channel.", null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='due_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='guild_id',
            field=models.BigIntegerField(help_text="Discord's id of the one server.", null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='message_id',
            field=models.BigIntegerField(help_text="Discord's id of the one memory.", null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='message_key',
            field=models.BigIntegerField(help_text='Key of the one memory.', null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='partial',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='preview',
            field=models.JSONField(default=dict, help_text='Rows by store, as last counted before it began.'),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='previewed_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='sample',
            field=models.JSONField(default=list, help_text='Ids of some erased messages, to look for in the files; cleared when done.'),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='since',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='started_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='erasurerequest',
            name='until',
            field=models.DateTimeField(blank=True, help_text='Not included.', null=True),
        ),
        migrations.AlterField(
            model_name='blockrevision',
            name='action',
            field=models.CharField(help_text='append, replace, rethink, edit, clear, undo, merge, approve, erase', max_length=12),
        ),
        migrations.AlterField(
            model_name='blockrevision',
            name='actor_kind',
            field=models.CharField(choices=[('model', 'the model'), ('user', 'the member'), ('admin', 'an admin'), ('consolidation', 'consolidation'), ('undo', 'an undo'), ('erasure', 'an erasure')], max_length=13),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='epoch',
            field=models.PositiveIntegerField(help_text='That the erasure began; 0 before.'),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='origin',
            field=models.CharField(choices=[('member', 'the member'), ('mail', 'a mail'), ('admin', 'an admin'), ('api', 'the API'), ('command', 'the command line'), ('retention', 'the time to keep was over')], max_length=10),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='received_at',
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='state',
            field=models.CharField(choices=[('received', 'Received'), ('previewed', 'Previewed'), ('running', 'Running'), ('verifying', 'Verifying'), ('done', 'Done'), ('failed', 'Failed'), ('closed', 'closed without an erasure')], default='running', max_length=10),
        ),
        migrations.AddIndex(
            model_name='erasurerequest',
            index=models.Index(condition=models.Q(('state__in', ['done', 'closed']), _negated=True), fields=['due_at'], name='erasure_due'),
        ),
        migrations.AddConstraint(
            model_name='erasedrange',
            constraint=models.UniqueConstraint(fields=('request_id',), name='erased_range_once'),
        ),
        migrations.AddField(
            model_name='replycontext',
            name='message',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.message'),
        ),
        migrations.AddField(
            model_name='replycontext',
            name='reply',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='context', to='memory.reply'),
        ),
        migrations.AddConstraint(
            model_name='replycontext',
            constraint=models.UniqueConstraint(fields=('reply', 'message'), name='reply_context_once'),
        ),
    ]
