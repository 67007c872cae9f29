from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    label = "memory"
    verbose_name = "Memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created
        from django.db.models.signals import pre_delete

        from memory import checks  # noqa: F401  (registers the system checks)
        from memory.index import archival, chunks
        from memory.index.connection import prepare_connection
        from memory.models import ArchivalEntry
        from memory.rag.terms import passage_fields
        from memory.rag.terms import prepare_connection as prepare_for_documents

        connection_created.connect(prepare_connection, dispatch_uid="memory.prepare_connection")
        connection_created.connect(prepare_for_documents, dispatch_uid="memory.prepare_for_documents")
        chunks.register_terms(passage_fields)
        pre_delete.connect(archival.forget, sender=ArchivalEntry, dispatch_uid="memory.forget_archival_entry")
