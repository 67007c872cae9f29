"""What people type about their own account, checked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password

WRONG_PASSWORD = "That is not your password now, or there were too many attempts."


def _password(label: str, autocomplete: str, help_text: str = "") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, strip=False, max_length=1000, help_text=help_text, widget=widget)


class PasswordChangeForm(forms.Form):
    """The password now, and the new one twice. Whether the one now fits is checked by the view, which counts failures."""

    now = _password("Password now", "current-password")
    password = _password(
        "New password", "new-password", "At least ten characters, and not one of the well-known ones."
    )
    again = _password("New password again", "new-password")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if "password" in values and values.get("again") != values["password"] and "again" in values:
            self.add_error("again", "The two passwords differ.")
        if "password" in values:
            try:
                validate_password(values["password"], self.user)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return values
