"""The full-text index of memories: an external-content FTS5 table over a view, so that nothing is stored twice.

``secure-delete`` is on before the first row: the words of what is erased leave the index at once.
"""

from django.db import migrations

CREATE = (
    """
    CREATE VIEW memory_message_terms AS
    SELECT key AS key, musebot_body_terms(text, captions) AS body, musebot_who_terms(author_name, sent_at) AS who
    FROM memory_message
    """,
    """
    CREATE VIRTUAL TABLE memory_message_fts USING fts5(
        body, who, content='memory_message_terms', content_rowid='key',
        tokenize='porter unicode61 remove_diacritics 2'
    )
    """,
    "INSERT INTO memory_message_fts(memory_message_fts, rank) VALUES ('secure-delete', 1)",
)
DROP = ("DROP TABLE memory_message_fts", "DROP VIEW memory_message_terms")


def run(statements):
    def apply(apps, schema_editor):
        if schema_editor.connection.vendor != "sqlite":
            return
        for statement in statements:
            schema_editor.execute(statement)

    return apply


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]

    operations = [migrations.RunPython(run(CREATE), run(DROP))]
