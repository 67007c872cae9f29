from django.apps import AppConfig


class BotrunnerConfig(AppConfig):
    name = "botrunner"
    verbose_name = "Discord bot"
