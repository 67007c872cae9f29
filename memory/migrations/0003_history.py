
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0002_full_text'),
    ]

    operations = [
        migrations.CreateModel(
            name='TouchedMessage',
            fields=[
                ('discord_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('deleted', models.BooleanField(default=False)),
                ('at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddField(
            model_name='guild',
            name='keep_after_leaving_days',
            field=models.PositiveIntegerField(default=30, help_text='Days until what was said is purged once the bot, or its author, has left the server.'),
        ),
        migrations.AddField(
            model_name='guild',
            name='max_age_days',
            field=models.PositiveIntegerField(blank=True, help_text='Older messages are purged daily; empty for no limit.', null=True),
        ),
        migrations.AddField(
            model_name='guildmember',
            name='left_at',
            field=models.DateTimeField(blank=True, help_text='When they left the server, if they did.', null=True),
        ),
        migrations.AlterField(
            model_name='erasurerequest',
            name='origin',
            field=models.CharField(choices=[('member', 'the member'), ('admin', 'an admin'), ('api', 'the API'), ('command', 'the command line'), ('retention', 'the time to keep was over')], max_length=10),
        ),
        migrations.CreateModel(
            name='ChannelMark',
            fields=[
                ('channel_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('seen_id', models.BigIntegerField()),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='marks', to='memory.guild')),
            ],
        ),
        migrations.CreateModel(
            name='Scan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('backfill', 'Backfill'), ('catch-up', 'Catch Up')], max_length=10)),
                ('state', models.CharField(choices=[('gathering', 'waiting for others who opt in'), ('listing', 'listing the channels'), ('running', 'reading'), ('paused', 'Paused'), ('done', 'Done'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='gathering', max_length=10)),
                ('paused_from', models.CharField(blank=True, help_text='The state to go on in.', max_length=10)),
                ('opened_at', models.DateTimeField(auto_now_add=True)),
                ('begins_at', models.DateTimeField(help_text='Until then members join this scan; later ones get one of their own.')),
                ('due_at', models.DateTimeField(help_text='Not before then: Discord asked to wait, or did not answer.')),
                ('failures', models.PositiveIntegerField(default=0, help_text='In a row, while the channels are listed.')),
                ('last_page_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('active_seconds', models.FloatField(default=0, help_text='Time spent reading, without pauses.')),
                ('pages', models.PositiveIntegerField(default=0)),
                ('scanned', models.BigIntegerField(default=0)),
                ('stored', models.BigIntegerField(default=0)),
                ('skipped', models.JSONField(default=dict, help_text='Messages that were not stored, by reason.')),
                ('since', models.JSONField(default=dict, help_text='Catch-up: by server, after which message its unknown channels are read; listed or not.')),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('guild', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scans', to='memory.guild')),
            ],
        ),
        migrations.CreateModel(
            name='ScanChannel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel_id', models.BigIntegerField()),
                ('name', models.CharField(blank=True, max_length=200)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('unreadable', 'may not be read'), ('gone', 'Gone')], default='waiting', max_length=10)),
                ('cursor', models.BigIntegerField(help_text='Backfill: the oldest message seen. Catch-up: the newest. Null: nothing yet.', null=True)),
                ('window_read', models.BooleanField(default=False, help_text='Catch-up: the messages before the mark were compared.')),
                ('requested', models.PositiveIntegerField(default=0, help_text='How often a catch-up was asked for.')),
                ('newest_at', models.DateTimeField(blank=True, null=True)),
                ('oldest_at', models.DateTimeField(blank=True, null=True)),
                ('pages', models.PositiveIntegerField(default=0)),
                ('scanned', models.BigIntegerField(default=0)),
                ('stored', models.BigIntegerField(default=0)),
                ('failures', models.PositiveIntegerField(default=0, help_text='In a row; a page that failed is asked for again.')),
                ('due_at', models.DateTimeField()),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.guild')),
                ('scan', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='memory.scan')),
            ],
        ),
        migrations.CreateModel(
            name='HeldReply',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reply_id', models.BigIntegerField()),
                ('trigger_id', models.BigIntegerField()),
                ('trigger_seen', models.BooleanField(default=False, help_text='It is of a member: the reply is to be fetched.')),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='held', to='memory.scanchannel')),
            ],
            options={
                'verbose_name_plural': 'held replies',
            },
        ),
        migrations.CreateModel(
            name='ScanMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('epoch', models.PositiveIntegerField(help_text='Their epoch when they asked: an erasure since ends it.')),
                ('stored', models.BigIntegerField(default=0)),
                ('joined_at', models.DateTimeField(auto_now_add=True)),
                ('told_at', models.DateTimeField(blank=True, help_text='When they learnt the result.', null=True)),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scans', to='memory.member')),
                ('scan', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='memory.scan')),
            ],
        ),
        migrations.AddIndex(
            model_name='scan',
            index=models.Index(fields=['state', 'kind'], name='scan_state'),
        ),
        migrations.AddIndex(
            model_name='scanchannel',
            index=models.Index(fields=['scan', 'state', 'due_at'], name='scan_channel_due'),
        ),
        migrations.AddIndex(
            model_name='scanchannel',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['channel_id'], name='scan_channel_open'),
        ),
        migrations.AddConstraint(
            model_name='scanchannel',
            constraint=models.UniqueConstraint(fields=('scan', 'channel_id'), name='scan_channel_once'),
        ),
        migrations.AddConstraint(
            model_name='heldreply',
            constraint=models.UniqueConstraint(fields=('channel', 'reply_id'), name='held_reply_once'),
        ),
        migrations.AddConstraint(
            model_name='scanmember',
            constraint=models.UniqueConstraint(fields=('scan', 'member'), name='scan_member_once'),
        ),
    ]
