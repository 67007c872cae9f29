from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    label = "memory"
    verbose_name = "Memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.backends.signals import connection_created

        from memory import checks  # noqa: F401  (registers the system checks)
        from memory.index.connection import prepare_connection

        connection_created.connect(prepare_connection, dispatch_uid="memory.prepare_connection")
