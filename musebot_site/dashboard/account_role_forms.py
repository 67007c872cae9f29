"""What is chosen when somebody is given a role."""

from __future__ import annotations

from typing import Any

from django import forms

from memory import roles, selectors
from memory.models import Role
from musebot_site.dashboard.forms import LongSelect
from musebot_site.dashboard.http import number


class RoleForm(forms.Form):
    """A role, and for those that can be limited a server."""

    role = forms.ChoiceField(choices=Role.choices, initial=Role.MODERATOR)
    server = forms.ChoiceField(required=False, widget=LongSelect)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["server"]
        assert isinstance(field, forms.ChoiceField)
        rows = [row for row in selectors.guilds() if row.kind == "guild"]
        field.choices = [("", "All servers"), *((str(row.id), row.name) for row in rows)]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("server") and values.get("role") in roles.EVERYWHERE:
            self.add_error("server", "An owner and a privacy officer see all servers. Leave it at that.")
        return values

    def role_of(self) -> Role:
        return Role(self.cleaned_data["role"])

    def guild_id(self) -> int | None:
        return number(self.cleaned_data["server"])
