"""Switches the second step of an account off, for somebody who has neither their phone nor a recovery code."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from memory import audit
from memory.management.base import QuickCommand
from musebot_site.dashboard import lockout, second_step


class Command(QuickCommand):
    help = "Switches the second step of an account's sign-in off."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the account")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError("There is no account of this name.")
        if not second_step.switch_off(user, by=audit.COMMAND):
            raise CommandError("The second step of this account is off already.")
        lockout.code_succeeded(account_id=user.pk)
        self.stdout.write(f"The second step of {user.username} is off. The password alone lets in now.")
