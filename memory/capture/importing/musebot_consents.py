"""The consents of an existing Musebot database, carried over as they were given."""

from __future__ import annotations

from django.db import transaction

from memory import consent
from memory.capture import content
from memory.capture.importing.musebot_file import OldConsent
from memory.errors import Conflict
from memory.models import ConsentEvent, Member
from memory.pseudonyms import subject_hash
from memory.types import Person

NOTICE = "musebot"
"""The notice under which people opted in to the original."""


def carry_over(old: OldConsent, *, dry_run: bool) -> str:
    """What became of a consent: ``carried``, ``known``, or why its owner stays out.

    Whoever withdrew or paused here has said so later than in the file.
    """
    row = Member.objects.filter(user_id=old.user_id).first()
    if row is not None:
        return "erasing" if row.withdrawn_at else "paused" if row.paused_at else "known"
    last = ConsentEvent.objects.filter(subject=subject_hash(old.user_id)).order_by("-id").first()
    if last is not None and last.action == ConsentEvent.Action.WITHDRAWN:
        return "withdrew"
    if not dry_run:
        try:
            _give(old)
        except Conflict:
            return "erasing"
    return "carried"


def _give(old: OldConsent) -> None:
    """The consent as it was given: at its time, under the notice of the original."""
    with transaction.atomic():
        username, display_name = content.clean(old.username)[:100], content.clean(old.display_name)[:200]
        consent.give(person=Person(old.user_id, username, display_name), origin="import")
        given = {"notice_version": NOTICE}
        member = Member.objects.filter(user_id=old.user_id)
        event = ConsentEvent.objects.filter(subject=subject_hash(old.user_id)).order_by("-id")[:1]
        member.update(**given, **({"consented_at": old.consented_at} if old.consented_at else {}))
        ConsentEvent.objects.filter(id__in=event.values("id")).update(
            **given, **({"at": old.consented_at} if old.consented_at else {})
        )
