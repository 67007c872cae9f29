
import django.db.models.deletion
import memory.models.fields
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('prefix', models.CharField(help_text='First characters, to tell keys apart.', max_length=12)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('scopes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Audience',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('readers', models.BinaryField(help_text='Little-endian unsigned 64-bit integers, ascending.')),
            ],
        ),
        migrations.CreateModel(
            name='ConsentEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(db_index=True, max_length=32)),
                ('action', models.CharField(choices=[('given', 'Given'), ('withdrawn', 'Withdrawn')], max_length=10)),
                ('at', models.DateTimeField()),
                ('notice_version', models.CharField(blank=True, max_length=20)),
                ('origin', models.CharField(max_length=20)),
            ],
        ),
        migrations.CreateModel(
            name='Guild',
            fields=[
                ('ordinal', models.AutoField(primary_key=True, serialize=False)),
                ('discord_id', models.BigIntegerField(help_text="The server's id; for a DM, its channel's.", unique=True)),
                ('kind', models.CharField(choices=[('guild', 'server'), ('dm', 'private conversation'), ('sandbox', 'sandbox')], default='guild', max_length=8)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('recall_policy', models.CharField(choices=[('audience', 'what everybody in the channel may read'), ('member', 'what the person who asks may read'), ('guild', 'everything said in the server')], default='audience', max_length=8)),
                ('capture_enabled', models.BooleanField(default=True)),
                ('is_sample', models.BooleanField(default=False, help_text='Invented people, to look at.')),
                ('next_sequence', models.BigIntegerField(default=1, help_text="Low bits of the next message's key.")),
                ('message_count', models.BigIntegerField(default=0, help_text='Kept in the transaction that writes.')),
                ('snapshot_at', models.DateTimeField(blank=True, help_text='When the readers were last known.', null=True)),
                ('left_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='InstallationState',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('value', models.JSONField(default=dict)),
                ('at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='SubjectEpoch',
            fields=[
                ('subject', models.CharField(help_text="Keyed hash of the member's id.", max_length=32, primary_key=True, serialize=False)),
                ('epoch', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='EmbeddingSpace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=20)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('digest', models.CharField(blank=True, max_length=100)),
                ('dimension', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('building', 'Building'), ('active', 'Active'), ('retired', 'Retired')], default='building', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('provider', 'name', 'digest', 'dimension'), name='embedding_space_once')],
            },
        ),
        migrations.CreateModel(
            name='ErasureRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(db_index=True, max_length=32)),
                ('user_id', models.BigIntegerField(help_text='Cleared when the erasure is done.', null=True)),
                ('epoch', models.PositiveIntegerField()),
                ('origin', models.CharField(choices=[('member', 'the member'), ('admin', 'an admin'), ('api', 'the API'), ('command', 'the command line')], max_length=10)),
                ('state', models.CharField(choices=[('running', 'Running'), ('verifying', 'Verifying'), ('done', 'Done'), ('failed', 'Failed')], default='running', max_length=10)),
                ('stage', models.CharField(blank=True, max_length=40)),
                ('total', models.BigIntegerField(default=0)),
                ('done', models.BigIntegerField(default=0)),
                ('counts', models.JSONField(default=dict, help_text='Rows erased by store.')),
                ('remains', models.JSONField(default=dict, help_text='What the re-scan found, by store; empty if nothing.')),
                ('digest', models.CharField(blank=True, help_text='SHA-256 of the receipt.', max_length=64)),
                ('received_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'indexes': [models.Index(fields=['-received_at'], name='erasure_newest')],
            },
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('discord_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('kind', models.CharField(default='text', max_length=20)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('topic', models.TextField(blank=True)),
                ('capture_enabled', models.BooleanField(default=True)),
                ('reply_enabled', models.BooleanField(default=True)),
                ('message_count', models.BigIntegerField(default=0)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('context_cleared_at', models.DateTimeField(blank=True, help_text='Messages before this are no longer part of the rolling context.', null=True)),
                ('audience', models.ForeignKey(blank=True, help_text='Unknown: what was said here is recalled here only.', null=True, on_delete=django.db.models.deletion.SET_NULL, to='memory.audience')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='threads', to='memory.channel')),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='memory.guild')),
            ],
        ),
        migrations.AddField(
            model_name='audience',
            name='guild',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='audiences', to='memory.guild'),
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('user_id', models.BigIntegerField(help_text="Discord's id.", primary_key=True, serialize=False)),
                ('username', models.CharField(blank=True, max_length=100)),
                ('display_name', models.CharField(blank=True, max_length=200)),
                ('consented_at', models.DateTimeField()),
                ('notice_version', models.CharField(max_length=20)),
                ('origin', models.CharField(default='discord', help_text='discord, import, sample, sandbox', max_length=20)),
                ('epoch', models.PositiveIntegerField(default=0)),
                ('paused_at', models.DateTimeField(blank=True, help_text='Nothing new is stored while set.', null=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, help_text="Set by an erasure's first step: nothing of theirs is written or recalled.", null=True)),
                ('message_count', models.BigIntegerField(default=0)),
                ('last_message_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['consented_at', 'user_id'], name='member_consented')],
            },
        ),
        migrations.CreateModel(
            name='GuildMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('username', models.CharField(blank=True, max_length=100)),
                ('display_name', models.CharField(blank=True, max_length=200)),
                ('message_count', models.BigIntegerField(default=0)),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='memory.guild')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guilds', to='memory.member')),
            ],
        ),
        migrations.CreateModel(
            name='DailyCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('count', models.IntegerField(default=0)),
                ('guild', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.guild')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.member')),
            ],
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('key', memory.models.fields.RowKeyField(primary_key=True, serialize=False)),
                ('author_id', models.BigIntegerField()),
                ('author_name', models.CharField(help_text='As shown when it was written.', max_length=200)),
                ('is_bot', models.BooleanField(default=False)),
                ('discord_id', models.BigIntegerField(blank=True, null=True)),
                ('reply_to', models.BigIntegerField(blank=True, help_text="Discord's id of the message it answers.", null=True)),
                ('text', models.TextField(help_text='As written, less mentions of the bot.')),
                ('captions', models.TextField(blank=True, help_text='What its images show; indexed with the text.')),
                ('content', models.JSONField(default=dict, help_text="The full record in the specification's shape.")),
                ('sent_at', models.DateTimeField()),
                ('edited_at', models.DateTimeField(blank=True, null=True)),
                ('stored_at', models.DateTimeField(auto_now_add=True)),
                ('source', models.CharField(default='live', max_length=12)),
                ('paused', models.BooleanField(default=False, help_text='Kept, but not recalled.')),
                ('embedding', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('failed', 'Failed'), ('none', 'nothing to embed')], default='pending', max_length=8)),
                ('times_used', models.PositiveIntegerField(default=0)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('channel', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='memory.channel')),
                ('guild', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='memory.guild')),
                ('member', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='memory.member')),
                ('space', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.embeddingspace')),
            ],
        ),
        migrations.CreateModel(
            name='OutboxEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='Which handler does it: embed, erase, …', max_length=20)),
                ('subject', models.BigIntegerField(default=0, help_text="What it is about: a message's key, a request's id.")),
                ('user_id', models.BigIntegerField(blank=True, help_text='Whose data it touches.', null=True)),
                ('epoch', models.PositiveIntegerField(default=0, help_text="That member's epoch when it was written.")),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('failed', 'Failed'), ('paused', 'Paused')], default='queued', max_length=8)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('lease', models.CharField(blank=True, help_text='Who is doing it.', max_length=32)),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('error', models.CharField(blank=True, help_text='Why the last attempt failed; no content.', max_length=300)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'indexes': [models.Index(fields=['kind', 'state', 'due_at', 'id'], name='outbox_due'), models.Index(fields=['user_id'], name='outbox_user')],
                'constraints': [models.UniqueConstraint(fields=('kind', 'subject'), name='outbox_once')],
            },
        ),
        migrations.CreateModel(
            name='Reply',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('channel_id', models.BigIntegerField(null=True)),
                ('asker_id', models.BigIntegerField(help_text='Null for somebody who has not opted in.', null=True)),
                ('trigger_id', models.BigIntegerField(help_text="Discord's id of the message being answered: one message, one reply.", null=True, unique=True)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('kind', models.CharField(blank=True, help_text='model, extractive, error', max_length=12)),
                ('origin', models.CharField(default='discord', help_text='discord, dashboard, api, command', max_length=12)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('host', models.CharField(blank=True, max_length=200)),
                ('prompt_tokens', models.PositiveIntegerField(default=0)),
                ('reply_tokens', models.PositiveIntegerField(default=0)),
                ('timings', models.JSONField(default=dict, help_text='Milliseconds by stage.')),
                ('cut', models.JSONField(default=dict)),
                ('degraded', models.CharField(blank=True, max_length=40)),
                ('error', models.CharField(blank=True, max_length=40)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('answer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.message')),
                ('guild', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replies', to='memory.guild')),
                ('question', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.message')),
            ],
            options={
                'verbose_name_plural': 'replies',
            },
        ),
        migrations.CreateModel(
            name='ReplyMemory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField()),
                ('score', models.FloatField()),
                ('scores', models.JSONField(default=dict)),
                ('injected', models.BooleanField(default=True)),
                ('why_excluded', models.CharField(blank=True, max_length=20)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='memory.message')),
                ('reply', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memories', to='memory.reply')),
            ],
            options={
                'verbose_name_plural': 'reply memories',
            },
        ),
        migrations.AddConstraint(
            model_name='audience',
            constraint=models.UniqueConstraint(fields=('guild', 'digest'), name='audience_once'),
        ),
        migrations.AddConstraint(
            model_name='guildmember',
            constraint=models.UniqueConstraint(fields=('guild', 'member'), name='guild_member_once'),
        ),
        migrations.AddConstraint(
            model_name='dailycount',
            constraint=models.UniqueConstraint(fields=('day', 'guild', 'member'), name='daily_count_once'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['-sent_at', '-key'], name='message_newest'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['guild', '-sent_at', '-key'], name='message_guild_newest'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['channel', '-sent_at', '-key'], name='message_channel_newest'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['member', '-sent_at', '-key'], name='message_member_newest'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('embedding', 'pending')), fields=['key'], name='message_pending'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('embedding', 'failed')), fields=['key'], name='message_failed'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('discord_id__isnull', False)), fields=('discord_id',), name='message_discord_id_once'),
        ),
        migrations.AddIndex(
            model_name='reply',
            index=models.Index(fields=['-created_at', '-id'], name='reply_newest'),
        ),
        migrations.AddIndex(
            model_name='reply',
            index=models.Index(fields=['guild', '-created_at', '-id'], name='reply_guild_newest'),
        ),
        migrations.AddIndex(
            model_name='reply',
            index=models.Index(fields=['asker_id'], name='reply_asker'),
        ),
        migrations.AddIndex(
            model_name='reply',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['state', 'created_at'], name='reply_pending'),
        ),
        migrations.AddConstraint(
            model_name='replymemory',
            constraint=models.UniqueConstraint(fields=('reply', 'message'), name='reply_memory_once'),
        ),
    ]
