from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "musebot_site"
    verbose_name = "Dashboard and API"

    def ready(self) -> None:
        # Shared tasks bind to the current app, in every process that sends or runs them.
        from musebot_site import celery, checks, sessions  # noqa: F401

        sessions.connect()
