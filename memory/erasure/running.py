"""Carrying out an erasure: batches delete, the indexes are merged, a re-scan proves it, the files are cleaned of the bytes.

``run`` goes on where it stopped, from any process; two at once do no harm, since every batch finds in its own transaction what
is left.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from memory import outbox
from memory.backends import text_index
from memory.erasure import checkpoint, core_memory, files, mentions, orphans, receipts, verification
from memory.erasure import partial as parts_of
from memory.erasure.needles import Needle
from memory.erasure.parts import Part
from memory.erasure.steps import STEPS
from memory.errors import MusebotError, NotFound
from memory.index import archival
from memory.models import ErasureRequest, Member, OutboxEntry, locks
from memory.pacing import Pace

logger = logging.getLogger(__name__)

ERASE = "erase"
"""Kind of work; the subject is ``work_id`` of the request."""
HANDLER_SECONDS = 15.0
WAIT_SECONDS = 2.0
LOG_SECONDS = 10.0
SEALING = "sealing"
"""Stage in which the id is known no more, and its bytes leave the files."""
MOST_ROUNDS = 3

State = ErasureRequest.State
OPEN = (State.RUNNING, State.VERIFYING)


class Unfinished(MusebotError):
    """Something of the member is left that could not be erased."""

    code = "erasure_unfinished"


def work_id(request: ErasureRequest) -> int:
    """A number of 63 bits that stands for the request in the outbox."""
    return request.id.int >> 65


def run(request_id: UUID | str, *, seconds: float | None = None) -> ErasureRequest:
    """Goes on with an erasure until it is done, or for about ``seconds``; returns the request as it is then.

    It stays open (``verifying``) while a reader of the database holds on to an old snapshot, and is ``failed`` if the re-scan finds
    what could not be erased. The worker goes on with it in both cases. Raises ``NotFound``.
    """
    return _Run(request_id, seconds=seconds, may_seal=seconds is None or checkpoint.is_small()).go()


def erase_entries(entries: Sequence[OutboxEntry]) -> None:
    """Handler of ``erase``: some seconds of each erasure, which then comes again until it is done."""
    for entry in entries:
        opened = ErasureRequest.objects.exclude(user_id=None) | ErasureRequest.objects.filter(stage=SEALING)
        found = next((one for one in opened if work_id(one) == entry.subject), None)
        if found is None:
            outbox.finish([entry])
            continue
        found = _Run(found.id, seconds=HANDLER_SECONDS, may_seal=True).go()
        if found.state == State.DONE and not found.stage:
            outbox.finish([entry])
        elif found.state == State.FAILED:
            outbox.fail([entry], Unfinished(found.error))
        else:
            outbox.hold([entry], 0 if found.state == State.RUNNING else WAIT_SECONDS)


class _Run:
    def __init__(self, request_id: UUID | str, *, seconds: float | None, may_seal: bool) -> None:
        self.id = request_id
        self.deadline = time.monotonic() + seconds if seconds is not None else float("inf")
        self.log_seconds = LOG_SECONDS if seconds is None else min(LOG_SECONDS, seconds)
        self.may_seal = may_seal
        self.inside = transaction.get_connection().in_atomic_block
        """Then the files cannot be cleaned; the worker will."""
        self.part: Part | None = None
        """What is erased, where it is not everything."""

    def go(self) -> ErasureRequest:
        for _ in range(MOST_ROUNDS):
            found = self._load()
            if found.state not in (*OPEN, State.FAILED) and found.stage != SEALING:
                return found
            user_id = found.user_id
            self.part = Part.of(found) if found.partial else None
            if user_id is not None and not (self._erase(user_id) and self._prove(user_id)):
                break
            found = self._load()
            if found.user_id is None and found.stage == SEALING and self.may_seal:
                self._seal(user_id)
            if self._load().state != State.FAILED:
                break
        return self._load()

    def _load(self) -> ErasureRequest:
        found = ErasureRequest.objects.filter(pk=self.id).first()
        if found is None:
            raise NotFound("There is no such erasure.")
        return found

    def _erase(self, user_id: int) -> bool:
        """All deleting steps; False if the time was up before they were through."""
        if self.part is not None:
            self._take_sample(user_id, self.part)
        pace = Pace()
        for name, step in self._steps(user_id):
            while True:
                if time.monotonic() >= self.deadline:
                    return False
                with pace.transaction() as size:
                    locks.hold("consent", user_id)  # nobody opts in again between the look and the step
                    counts = Counter[str]() if self._is_back(user_id) else step(size)
                    if counts:
                        self._note(counts, stage=name)
                if not counts:
                    break
        if self.part is not None:
            return True
        self._stage("mentions", State.RUNNING)
        scrubbed = mentions.scrub(user_id) + core_memory.scrub(user_id)
        counts = +Counter(mentions=scrubbed)
        with transaction.atomic():
            self._note(counts, stage="mentions")
        return True

    def _steps(self, user_id: int) -> Iterator[tuple[str, Callable[[int], Counter[str]]]]:
        if self.part is None:
            for step in STEPS:
                yield step.__name__, partial(step, user_id)
        else:
            for narrow in parts_of.STEPS:
                yield narrow.__name__, partial(narrow, user_id, self.part)

    def _is_back(self, user_id: int) -> bool:
        """Whether everything was to go of somebody who has opted in again since."""
        return self.part is None and Member.objects.filter(user_id=user_id, withdrawn_at=None).exists()

    def _take_sample(self, user_id: int, part: Part) -> None:
        rows = ErasureRequest.objects.filter(pk=self.id, sample=[])
        if rows.exists() and (found := parts_of.sample(user_id, part)):
            rows.update(sample=found)

    def _note(self, counts: Counter[str], *, stage: str) -> None:
        found = self._load()
        found.counts = dict(Counter(found.counts) + counts)
        found.done += counts["memories"]
        found.total = max(found.total, found.done)
        if found.user_id is not None:  # otherwise another process has proved it already, and the stage is its
            found.stage = stage.replace("_", " ")
        found.save(update_fields=["counts", "done", "total", "stage"])

    def _stage(self, stage: str, state: str) -> None:
        ErasureRequest.objects.filter(pk=self.id).exclude(user_id=None).update(stage=stage, state=state)

    def _prove(self, user_id: int) -> bool:
        """Scans every table and index again; then the request forgets the id. False if something is left."""
        self._merge_words()
        self._stage("verifying", State.VERIFYING)
        strays = self._without_strays()
        remains: dict[str, int] = {}
        if self.part is not None:
            remains = dict(parts_of.remains(user_id, self.part) + strays)
        elif not self._is_back(user_id):
            rows = verification.rows(user_id, except_request=self.id)
            remains = dict(rows + verification.named_in_indexes(user_id) + strays)
        with transaction.atomic():
            found = self._load()
            if found.user_id is None:
                return True  # another process was faster
            if remains:
                self._fail(found, remains)
                return False
            if self.part is None:
                ErasureRequest.objects.filter(subject=found.subject).update(user_id=None)
            ErasureRequest.objects.filter(pk=self.id).update(stage=SEALING, user_id=None)
        return True

    def _merge_words(self) -> None:
        self._stage("merging the words", State.VERIFYING)
        text_index().optimize()
        archival.optimize()

    def _without_strays(self) -> Counter[str]:
        """Removes entries of indexes that belong to nothing; returns those that are left. There should be none from the first."""
        strays = verification.strays()
        if not strays:
            return strays
        repaired = Counter(strays=orphans.repair())
        with transaction.atomic():
            self._note(repaired, stage="verifying")
        self._merge_words()
        return verification.strays()

    def _seal(self, user_id: int | None) -> None:
        """Takes the bytes out of the files, looks for the id in them where it is known, and writes the receipt."""
        left: dict[str, int] = {}
        if not self.inside:
            if not checkpoint.clean_files(log_seconds=self.log_seconds):
                return
            left = dict(files.search(self._needles(user_id)))
        with transaction.atomic():
            found = self._load()
            if found.stage != SEALING:
                return  # another process was faster
            if left:
                found.user_id = user_id
                self._fail(found, left)
            else:
                self._finish(found)

    def _needles(self, user_id: int | None) -> Sequence[bytes]:
        if self.part is not None:
            return parts_of.needles(self._load().sample)
        # One who opted in again meanwhile is in the files with reason.
        if user_id is None or Member.objects.filter(user_id=user_id).exists():
            return ()
        return Needle(user_id).bytes

    @staticmethod
    def _fail(found: ErasureRequest, remains: dict[str, int]) -> None:
        found.remains = remains
        found.state = State.FAILED
        found.stage = "failed"
        found.error = "The re-scan found what could not be erased; see what remains."
        found.save()
        logger.error("erasure %s is not complete: something is left in %s", found.pk, ", ".join(remains))

    def _finish(self, found: ErasureRequest) -> None:
        if found.state != State.DONE:
            found.state = State.DONE
            found.remains = {}
            found.error = ""
            found.sample = []
            found.finished_at = timezone.now()
            found.digest = receipts.receipt(found)["digest"]
            receipts.append(found)
            logger.info("erasure %s is done: %d messages", found.pk, found.done)
        if not self.inside:
            found.stage = ""
            OutboxEntry.objects.filter(kind=ERASE, subject=work_id(found)).delete()
        found.save()
