import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

# As for messages: an external-content table over a view, so that nothing is stored twice, with ``secure-delete`` on before the
# first row. Entries that were deleted are taken out of it while their rows stay for an undo.
CREATE = (
    """
    CREATE VIEW memory_archival_terms AS
    SELECT id AS id, musebot_body_terms(text, '') AS body FROM memory_archivalentry WHERE deleted_at IS NULL
    """,
    """
    CREATE VIRTUAL TABLE memory_archival_fts USING fts5(
        body, content='memory_archival_terms', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    "INSERT INTO memory_archival_fts(memory_archival_fts, rank) VALUES ('secure-delete', 1)",
)
DROP = ("DROP TABLE memory_archival_fts", "DROP VIEW memory_archival_terms")


def run(statements):
    def apply(apps, schema_editor):
        if schema_editor.connection.vendor != "sqlite":
            return
        for statement in statements:
            schema_editor.execute(statement)

    return apply


class Migration(migrations.Migration):
    dependencies = [("memory", "0005_facts")]

    operations = [
        migrations.CreateModel(
            name='MemoryBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('global', 'everywhere'), ('guild', 'one server'), ('user', 'one member'), ('session', 'one channel')], max_length=8)),
                ('scope_key', models.BigIntegerField(default=0, help_text="Discord's id of the server, member or channel; 0 for everywhere.")),
                ('private', models.BooleanField(default=False, help_text='Learned in private conversations, and used only there.')),
                ('label', models.CharField(choices=[('persona', 'Persona'), ('human', 'Human'), ('working_context', 'Working Context')], max_length=20)),
                ('description', models.CharField(blank=True, max_length=300)),
                ('value', models.TextField(blank=True)),
                ('limit', models.PositiveIntegerField(help_text='Characters that it may hold.')),
                ('read_only', models.BooleanField(default=False, help_text='No tool may change it.')),
                ('version', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('member', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='memory_blocks', to='memory.member')),
            ],
        ),
        migrations.CreateModel(
            name='BlockRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('value', models.TextField(blank=True)),
                ('action', models.CharField(help_text='append, replace, rethink, edit, clear, undo, merge, approve', max_length=12)),
                ('actor_kind', models.CharField(choices=[('model', 'the model'), ('user', 'the member'), ('admin', 'an admin'), ('consolidation', 'consolidation'), ('undo', 'an undo')], max_length=13)),
                ('actor', models.BigIntegerField(blank=True, help_text="Discord's id of the member whose turn it was; an admin's account number.", null=True)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('tool_call_id', models.CharField(blank=True, max_length=120, null=True, unique=True)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('source_message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.message')),
                ('block', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='memory.memoryblock')),
            ],
        ),
        migrations.CreateModel(
            name='PersonaProposal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('global', 'everywhere'), ('guild', 'one server'), ('user', 'one member'), ('session', 'one channel')], max_length=8)),
                ('scope_key', models.BigIntegerField(default=0)),
                ('value', models.TextField()),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('base_version', models.PositiveIntegerField(default=0)),
                ('state', models.CharField(choices=[('open', 'Open'), ('approved', 'Approved'), ('rejected', 'Rejected')], default='open', max_length=8)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('member', models.ForeignKey(blank=True, help_text='Whose conversation it came from.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='persona_proposals', to='memory.member')),
            ],
        ),
        migrations.CreateModel(
            name='ReplyBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField()),
                ('block', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='memory.memoryblock')),
                ('reply', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='memory.reply')),
            ],
        ),
        migrations.CreateModel(
            name='ArchivalEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('global', 'everywhere'), ('guild', 'one server'), ('user', 'one member'), ('session', 'one channel')], default='user', max_length=8)),
                ('scope_key', models.BigIntegerField()),
                ('private', models.BooleanField(default=False, help_text='Learned in private conversations, and found only there.')),
                ('channel_id', models.BigIntegerField(blank=True, help_text='Learned there.', null=True)),
                ('text', models.TextField()),
                ('content_hash', models.CharField(max_length=64)),
                ('tags', models.JSONField(default=list)),
                ('event_time', models.DateTimeField(default=django.utils.timezone.now)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('embedding', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('tool_call_id', models.CharField(blank=True, max_length=120, null=True, unique=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('delete_reason', models.CharField(blank=True, max_length=300)),
                ('guild', models.ForeignKey(blank=True, help_text='Learned there.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.guild')),
                ('member', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='archival_entries', to='memory.member')),
                ('source_message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.message')),
                ('space', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.embeddingspace')),
            ],
            options={
                'verbose_name_plural': 'archival entries',
                'indexes': [models.Index(fields=['scope', 'scope_key', '-event_time', '-id'], name='archival_of_scope'), models.Index(condition=models.Q(('embedding', 'pending')), fields=['id'], name='archival_pending')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at__isnull', True)), fields=('scope', 'scope_key', 'private', 'content_hash'), name='archival_live_once')],
            },
        ),
        migrations.CreateModel(
            name='Consolidation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel_id', models.BigIntegerField(help_text='The session: a channel, a thread or a private conversation.')),
                ('watermark_key', models.BigIntegerField(default=0, help_text='Key of the last message that was gone through; what was stored later is still to do.')),
                ('until', models.DateTimeField(blank=True, help_text='End of the session that is to be gone through.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consolidations', to='memory.member')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('member', 'channel_id'), name='consolidation_once')],
            },
        ),
        migrations.AddIndex(
            model_name='memoryblock',
            index=models.Index(fields=['-updated_at', '-id'], name='memory_block_newest'),
        ),
        migrations.AddConstraint(
            model_name='memoryblock',
            constraint=models.UniqueConstraint(fields=('scope', 'scope_key', 'label', 'private'), name='memory_block_once'),
        ),
        migrations.AddIndex(
            model_name='blockrevision',
            index=models.Index(fields=['actor', 'actor_kind'], name='block_revision_actor'),
        ),
        migrations.AddConstraint(
            model_name='blockrevision',
            constraint=models.UniqueConstraint(fields=('block', 'version'), name='block_revision_once'),
        ),
        migrations.AddIndex(
            model_name='personaproposal',
            index=models.Index(fields=['state', '-created_at'], name='persona_proposal_open'),
        ),
        migrations.AddConstraint(
            model_name='replyblock',
            constraint=models.UniqueConstraint(fields=('reply', 'block'), name='reply_block_once'),
        ),
        migrations.RunPython(run(CREATE), run(DROP)),
    ]
