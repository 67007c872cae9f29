"""The gate: who has opted in, under which epoch, and what a write under an older one meets."""

import pytest

from memory import consent
from memory.errors import Conflict, ConsentMissing, MemoryDisabled, StaleEpoch
from memory.models import ConsentEvent, Member, SubjectEpoch
from tests.factories import person

pytestmark = pytest.mark.django_db


def test_nobody_has_opted_in_before_they_did():
    assert consent.find(person().id) is None


def test_opting_in_is_recorded_once():
    ada = person()
    _, first = consent.give(person=ada, origin="discord")
    _, second = consent.give(person=ada, origin="discord")
    assert (first, second) == (True, False)
    assert ConsentEvent.objects.count() == 1
    assert consent.find(ada.id) == consent.Consent(ada.id, epoch=0)


def test_the_record_of_consent_names_nobody():
    ada = person()
    consent.give(person=ada, origin="discord")
    assert str(ada.id) not in str(list(ConsentEvent.objects.values()))


def test_withdrawing_begins_a_new_epoch_at_once():
    ada = person()
    consent.give(person=ada, origin="discord")
    before = consent.find(ada.id)
    assert consent.withdraw(user_id=ada.id, origin="discord") == 1
    assert consent.find(ada.id) is None
    assert consent.consenting({ada.id}) == set()
    with pytest.raises(ConsentMissing):
        consent.require(before)


def test_opting_in_again_waits_for_the_erasure():
    ada = person()
    consent.give(person=ada, origin="discord")
    consent.withdraw(user_id=ada.id, origin="discord")
    with pytest.raises(Conflict, match="still being erased"):
        consent.give(person=ada, origin="discord")


def test_work_begun_before_an_erasure_is_refused_after_opting_in_again():
    ada = person()
    consent.give(person=ada, origin="discord")
    before = consent.find(ada.id)
    consent.withdraw(user_id=ada.id, origin="discord")
    Member.objects.filter(user_id=ada.id).delete()  # what the erasure does last
    consent.give(person=ada, origin="discord")
    assert consent.find(ada.id).epoch == 1
    with pytest.raises(StaleEpoch):
        consent.require(before)


def test_an_epoch_begins_even_for_somebody_who_never_opted_in():
    ada = person()
    consent.withdraw(user_id=ada.id, origin="admin")
    assert SubjectEpoch.objects.get().epoch == 1
    assert not ConsentEvent.objects.exists()


def test_a_paused_member_counts_as_not_consenting_until_they_opt_in_again():
    ada = person()
    consent.give(person=ada, origin="discord")
    Member.objects.update(paused_at="2026-03-01T00:00:00Z")
    assert consent.find(ada.id) is None
    consent.give(person=ada, origin="discord")
    assert consent.find(ada.id) is not None


def test_there_is_nothing_to_opt_in_to_while_memory_is_off(settings):
    memory_off = settings.MUSEBOT.memory.model_copy(update={"embedding_model": None})
    ada = person()
    consent.give(person=ada, origin="discord")
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": memory_off})
    with pytest.raises(MemoryDisabled):
        consent.give(person=person(), origin="discord")
    assert consent.find(ada.id) is None
