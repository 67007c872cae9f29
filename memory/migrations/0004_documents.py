"""Documents, their versions and passages, and the full-text index of the passages.

As for messages: an external-content table over a view, so that nothing is stored twice, with ``secure-delete`` on before the first
row. A passage's document (title and file name), its headings and its own words are fields of their own.
"""

import django.db.models.deletion
import django.utils.timezone
import memory.models.fields
from django.db import migrations, models

CREATE = (
    """
    CREATE VIEW memory_chunk_terms AS
    SELECT chunk.key AS key, musebot_document_terms(version.name, version.title) AS title,
        musebot_heading_terms(chunk.heading) AS heading, musebot_passage_terms(chunk.text) AS body
    FROM memory_chunk AS chunk JOIN memory_documentversion AS version ON version.id = chunk.version_id
    """,
    """
    CREATE VIRTUAL TABLE memory_chunk_fts USING fts5(
        title, heading, body, content='memory_chunk_terms', content_rowid='key',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    "INSERT INTO memory_chunk_fts(memory_chunk_fts, rank) VALUES ('secure-delete', 1)",
)
DROP = ("DROP TABLE memory_chunk_fts", "DROP VIEW memory_chunk_terms")


def run(statements):
    def apply(apps, schema_editor):
        if schema_editor.connection.vendor != "sqlite":
            return
        for statement in statements:
            schema_editor.execute(statement)

    return apply


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_history")]

    operations = [
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text="The file's name as it was uploaded, made safe to show.", max_length=200)),
                ('reference', models.CharField(blank=True, help_text='What a program calls it; null for uploads.', max_length=300, null=True, unique=True)),
                ('everywhere', models.BooleanField(default=True)),
                ('enabled', models.BooleanField(default=True)),
                ('origin', models.CharField(choices=[('upload', 'uploaded'), ('command', 'the command line'), ('api', 'the API'), ('config', 'the configuration'), ('text', 'written by a program')], default='upload', max_length=8)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('guilds', models.ManyToManyField(blank=True, help_text='Where it answers unless it does everywhere.', related_name='documents', to='memory.guild')),
            ],
        ),
        migrations.CreateModel(
            name='DocumentVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=200)),
                ('source', models.CharField(help_text='What citations call it.', max_length=300)),
                ('stored_name', models.CharField(help_text="The file's name in the folder; random.", max_length=64)),
                ('size', models.PositiveBigIntegerField(help_text='Bytes.')),
                ('digest', models.CharField(help_text='SHA-256 of the file.', max_length=64)),
                ('kind', models.CharField(blank=True, help_text='As it was found to be: markdown, pdf, …', max_length=10)),
                ('title', models.CharField(blank=True, max_length=300)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('parse', 'Parse'), ('chunk', 'Chunk'), ('embed', 'Embed'), ('ready', 'Ready'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=9)),
                ('error_code', models.CharField(blank=True, max_length=30)),
                ('reason', models.CharField(blank=True, help_text='A stable word for the cause.', max_length=40)),
                ('error', models.CharField(blank=True, max_length=500)),
                ('warnings', models.JSONField(default=list, help_text='In plain words.')),
                ('sections', models.PositiveIntegerField(default=0)),
                ('characters', models.PositiveBigIntegerField(default=0)),
                ('chunks_total', models.PositiveIntegerField(default=0)),
                ('chunks_done', models.PositiveIntegerField(default=0, help_text='Those that have their vector.')),
                ('chunks_embedded', models.PositiveIntegerField(default=0, help_text='Those that were embedded for it; the others kept the vector of the same text.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('stage_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When the stage that it is in began.')),
                ('ready_at', models.DateTimeField(blank=True, null=True)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memory.document')),
            ],
        ),
        migrations.AddField(
            model_name='document',
            name='active',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.documentversion'),
        ),
        migrations.CreateModel(
            name='Chunk',
            fields=[
                ('key', memory.models.fields.RowKeyField(primary_key=True, serialize=False)),
                ('text', models.TextField()),
                ('heading', models.TextField(blank=True, help_text='Headings from the outermost inwards, one a line.')),
                ('page', models.PositiveIntegerField(blank=True, null=True)),
                ('row', models.PositiveIntegerField(blank=True, null=True)),
                ('section', models.PositiveIntegerField(default=0)),
                ('start', models.PositiveIntegerField(default=0)),
                ('end', models.PositiveIntegerField(default=0)),
                ('text_hash', models.CharField(db_index=True, help_text='Of what is embedded.', max_length=32)),
                ('embedding', models.CharField(choices=[('pending', 'Pending'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('space', models.CharField(blank=True, help_text='Which vectors it has; empty for none.', max_length=16)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='memory.documentversion')),
            ],
        ),
        migrations.CreateModel(
            name='DocumentWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=40)),
                ('space', models.CharField(max_length=16)),
                ('vector', models.BinaryField(help_text='Half precision, little-endian.')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('space', 'word'), name='document_word_once')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=400)),
                ('source', models.CharField(blank=True, help_text='Name of the document that answers it.', max_length=300)),
                ('contains', models.CharField(blank=True, help_text='Words of the passage that answers it.', max_length=400)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('guild', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.guild')),
            ],
        ),
        migrations.CreateModel(
            name='EvaluationRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cause', models.CharField(blank=True, help_text='What had changed.', max_length=200)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('questions', models.PositiveIntegerField(default=0)),
                ('measures', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'indexes': [models.Index(fields=['-created_at', '-id'], name='evaluation_run_newest')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField(blank=True, null=True)),
                ('score', models.FloatField(blank=True, null=True)),
                ('returned', models.PositiveIntegerField(default=0)),
                ('best', models.CharField(blank=True, help_text='The citation that came first.', max_length=300)),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='memory.evaluationquestion')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='memory.evaluationrun')),
            ],
        ),
        migrations.CreateModel(
            name='ReplyChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rank', models.PositiveIntegerField(help_text='The number that it is cited by, where it was injected.')),
                ('score', models.FloatField()),
                ('scores', models.JSONField(default=dict)),
                ('injected', models.BooleanField(default=True)),
                ('cited', models.BooleanField(default=False)),
                ('why_excluded', models.CharField(blank=True, max_length=20)),
                ('chunk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='uses', to='memory.chunk')),
                ('reply', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='memory.reply')),
            ],
        ),
        migrations.AddIndex(
            model_name='documentversion',
            index=models.Index(condition=models.Q(('state__in', ['queued', 'parse', 'chunk', 'embed'])), fields=['state'], name='document_version_busy'),
        ),
        migrations.AddConstraint(
            model_name='documentversion',
            constraint=models.UniqueConstraint(fields=('document', 'number'), name='document_version_once'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(fields=['-updated_at', '-id'], name='document_newest'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(fields=['name'], name='document_name'),
        ),
        migrations.AddIndex(
            model_name='chunk',
            index=models.Index(condition=models.Q(('embedding', 'pending')), fields=['key'], name='chunk_pending'),
        ),
        migrations.AddConstraint(
            model_name='evaluationquestion',
            constraint=models.UniqueConstraint(fields=('question', 'guild'), name='evaluation_question_once'),
        ),
        migrations.AddConstraint(
            model_name='evaluationresult',
            constraint=models.UniqueConstraint(fields=('run', 'question'), name='evaluation_result_once'),
        ),
        migrations.AddConstraint(
            model_name='replychunk',
            constraint=models.UniqueConstraint(fields=('reply', 'chunk'), name='reply_chunk_once'),
        ),
        migrations.RunPython(run(CREATE), run(DROP)),
    ]
