"""Words and vectors in PostgreSQL: the extension, and tables for the words of messages, passages and the archive.

On SQLite there is nothing to do: its indexes were made with the tables that they belong to.
"""

from django.db import migrations
from django.db.utils import Error

from memory.errors import ConfigurationError
from memory.index.pg_archival import POSTINGS as ARCHIVAL
from memory.index.pg_chunks import POSTINGS as CHUNKS
from memory.index.pg_fulltext import POSTINGS as MESSAGES

POSTINGS = (MESSAGES, CHUNKS, ARCHIVAL)


def create(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector')")
        there = cursor.fetchone()[0]
    if not there:
        try:
            schema_editor.execute("CREATE EXTENSION vector")
        except Error as error:
            raise ConfigurationError(
                "This PostgreSQL needs pgvector. Install it on the server (Debian: postgresql-17-pgvector; or use the image "
                "pgvector/pgvector) and, where the account may not do it, have an administrator run CREATE EXTENSION vector; "
                f"in this database. The server said: {str(error).splitlines()[0]}"
            ) from error
    for postings in POSTINGS:
        for statement in postings.create_statements():
            schema_editor.execute(statement)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for postings in POSTINGS:
            for statement in postings.drop_statements():
                schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [("memory", "0011_speed")]

    operations = [migrations.RunPython(create, drop)]
