"""Bringing a restored backup up to date with what was erased after it was made."""

from __future__ import annotations

from django.db import transaction

from memory.erasure.receipts import read
from memory.erasure.running import run
from memory.erasure.services import request
from memory.models import ErasureRequest, Member, SubjectEpoch
from memory.pseudonyms import subject_hash


def replay_receipts() -> int:
    """After a restored backup: erases again whoever is in it under an older epoch than their receipt; returns how many."""
    epochs: dict[str, int] = {}
    for line in read():
        epochs[line["subject"]] = max(line["epoch"], epochs.get(line["subject"], 0))
    if not epochs:
        return 0
    outdated = []
    for user_id, epoch in Member.objects.values_list("user_id", "epoch"):
        subject = subject_hash(user_id)
        if epoch < epochs.get(subject, 0):
            outdated.append(user_id)
    with transaction.atomic():
        # Work of the backup's time is refused even where the member's row was not in it.
        for subject, epoch in epochs.items():
            row, _ = SubjectEpoch.objects.get_or_create(subject=subject)
            if row.epoch < epoch:
                SubjectEpoch.objects.filter(subject=subject).update(epoch=epoch)
    for user_id in outdated:
        run(request(user_id=user_id, origin=ErasureRequest.Origin.COMMAND).id)
    return len(outdated)
