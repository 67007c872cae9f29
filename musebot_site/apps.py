from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "musebot_site"
    verbose_name = "Dashboard and API"

    def ready(self) -> None:
        from musebot_site import checks, sessions  # noqa: F401

        sessions.connect()
