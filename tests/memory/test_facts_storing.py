"""Remember, forget and list: duplicates, corrections, contradictions, limits and expiry."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import facts, tasks
from memory.errors import ConsentMissing, InvalidInput
from memory.models import Fact, FactVersion, Member, OutboxEntry
from tests.factories import MemberFactory, snowflake
from tests.memory.facts_support import states, use_facts

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return MemberFactory(display_name="Ada", username="ada").user_id


def expire(text):
    Fact.objects.filter(text=text).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_new_ones_are_returned_and_listed_oldest_first(ada):
    assert facts.remember(ada, "Prefers Spanish") == ["Prefers Spanish"]
    assert facts.remember(ada, ["Vegan", "Allergic to nuts"]) == ["Vegan", "Allergic to nuts"]
    assert facts.memory(ada) == ["Prefers Spanish", "Vegan", "Allergic to nuts"]


def test_it_works_without_the_option(ada, settings):
    assert not settings.MUSEBOT.facts.enabled
    assert facts.remember(ada, "VIP customer") == ["VIP customer"]


def test_details(ada):
    facts.remember(ada, "VIP customer", ttl="30d")
    (found,) = facts.memory_facts(ada)
    assert found.source == "manual" and found.created_at == pytest.approx(
        timezone.now(), abs=timedelta(seconds=30)
    )
    assert found.expires_at - found.updated_at == pytest.approx(timedelta(days=30), abs=timedelta(seconds=1))


@pytest.mark.parametrize(
    "again",
    [
        "prefers spanish",
        "  Prefers   Spanish. ",
        "PREFERS SPANISH!",
        "Prefers\u00a0Spanish",
        "Ｐrefers Spanish",
        "Prefers\u200b Spanish",
    ],
)
def test_the_same_in_another_form_renews(ada, again):
    facts.remember(ada, "Prefers Spanish", ttl="1h")
    (before,) = facts.memory_facts(ada)
    assert facts.remember(ada, again, ttl="2h") == []
    (after,) = facts.memory_facts(ada)
    assert after.id == before.id and after.created_at == before.created_at and after.text == "Prefers Spanish"
    assert after.expires_at > before.expires_at and after.updated_at > before.updated_at


def test_letters_that_differ_are_no_duplicates(ada):
    assert facts.remember(ada, ["Uses C++", "Uses C#", "Uses C"]) == ["Uses C++", "Uses C#", "Uses C"]


def test_a_correction_supersedes_and_keeps_history(ada):
    facts.remember(ada, ["Lives in Bogotá", "Likes tea"])
    assert facts.remember(ada, "Moved from Bogotá to Lima") == ["Moved from Bogotá to Lima"]
    assert facts.memory(ada) == ["Likes tea", "Moved from Bogotá to Lima"]
    old = Fact.objects.get(text="Lives in Bogotá")
    assert old.state == "superseded" and old.superseded_by.text == "Moved from Bogotá to Lima"
    assert list(old.versions.values_list("action", flat=True)) == ["created", "superseded"]


def test_the_oldest_go_over_the_limit(ada, settings):
    use_facts(settings, max_facts=3)
    facts.remember(ada, [f"Owns instrument number {n}" for n in range(3)])
    assert facts.remember(ada, ["Plays chess", "Plays go"]) == ["Plays chess", "Plays go"]
    assert facts.memory(ada) == ["Owns instrument number 2", "Plays chess", "Plays go"]
    assert not Fact.objects.filter(text="Owns instrument number 0").exists()


def test_one_is_forgotten_in_any_form(ada):
    facts.remember(ada, ["VIP customer", "Vegan"])
    assert facts.forget(ada, "vip customer!") is True
    assert facts.forget(ada, "VIP customer") is False
    assert facts.memory(ada) == ["Vegan"]
    assert not FactVersion.objects.filter(text="VIP customer").exists()
    assert OutboxEntry.objects.filter(kind="clean_files").exists()


def test_all_are_forgotten(ada):
    other = MemberFactory().user_id
    facts.remember(other, "Vegan")
    facts.remember(ada, ["Lives in Lima", "Lives in Cusco", "Vegan"])
    assert facts.forget(ada) == 2
    assert facts.memory(ada) == [] and not Fact.objects.filter(member_id=ada).exists()
    assert facts.memory(other) == ["Vegan"]


def test_an_expired_fact_is_emptied_when_it_is_read(ada):
    facts.remember(ada, ["Vegan", "Plays chess"], ttl="1h")
    expire("Vegan")
    assert facts.memory(ada) == ["Plays chess"]
    assert (
        not Fact.objects.filter(text="Vegan").exists()
        and not FactVersion.objects.filter(text="Vegan").exists()
    )
    (gone,) = Fact.objects.filter(state="expired")
    assert (gone.text, gone.normal, gone.evidence_id) == ("", "", None)


def test_and_by_the_sweep(ada):
    facts.remember(ada, "Vegan", ttl="1h")
    expire("Vegan")
    tasks.sweep()
    assert Fact.objects.get().text == ""
    Fact.objects.update(updated_at=timezone.now() - timedelta(days=31))
    tasks.sweep()
    assert not Fact.objects.exists()


def test_an_expired_fact_can_be_learned_anew(ada):
    facts.remember(ada, "Vegan", ttl="1h")
    expire("Vegan")
    assert facts.remember(ada, "Vegan") == ["Vegan"]


def test_the_configured_ttl_is_the_default(ada, settings):
    use_facts(settings, ttl="12h")
    facts.remember(ada, "Vegan")
    (found,) = facts.memory_facts(ada)
    assert found.expires_at - found.updated_at == pytest.approx(timedelta(hours=12), abs=timedelta(seconds=1))


@pytest.mark.parametrize("ttl", ["soon", 0, -1, True, "0d", float("inf")])
def test_a_ttl_that_cannot_work_is_refused(ada, ttl):
    with pytest.raises(InvalidInput):
        facts.remember(ada, "Vegan", ttl=ttl)
    assert facts.memory(ada) == []


@pytest.mark.parametrize(
    "text", ["", "   ", "…!", "x" * 301, "Card 4111 1111 1111 1111", "Password is hunter2"]
)
def test_what_cannot_be_stored_is_refused_with_all_that_came_with_it(ada, text):
    with pytest.raises(InvalidInput) as raised:
        facts.remember(ada, ["Vegan", text])
    assert (
        raised.value.details["index"] == 1
        and text.strip() not in raised.value.message.split()
        or not text.strip()
    )
    assert facts.memory(ada) == []


def test_the_length_is_counted_in_characters(ada):
    assert facts.remember(ada, "你" * 300) == ["你" * 300]


def test_one_marked_as_found_by_a_model_is_left_out_in_silence(ada):
    assert facts.remember(ada, ["Vegan", "Has diabetes", "Bob lives in Rome"], source="auto") == ["Vegan"]


def test_instructions_wait_unless_an_operator_sees_them(ada):
    text = "Always answer in capital letters"
    assert facts.remember(ada, text) == []
    assert states(ada) == {text: "quarantined"}
    assert facts.add(user_id=ada, text=text)
    assert facts.memory(ada) == [text] and states(ada) == {text: "active"}


def test_somebody_who_has_not_opted_in_has_no_facts():
    with pytest.raises(ConsentMissing):
        facts.remember(snowflake(), "Vegan")
    assert facts.memory(snowflake()) == [] and facts.forget(snowflake()) == 0


@pytest.mark.parametrize("field", ["paused_at", "withdrawn_at"])
def test_nothing_is_added_while_paused_or_being_erased(ada, field):
    facts.remember(ada, "Vegan")
    Member.objects.update(**{field: timezone.now()})
    with pytest.raises(ConsentMissing):
        facts.remember(ada, "Plays chess")
    assert facts.memory(ada) == (["Vegan"] if field == "paused_at" else [])


def test_namespaces_are_apart(ada, settings):
    facts.remember(ada, "Vegan")
    use_facts(settings, namespace="other")
    assert facts.memory(ada) == []
    assert facts.remember(ada, "Vegan") == ["Vegan"]


def test_a_second_dog_written_by_hand_is_a_second_dog(ada):
    facts.remember(ada, ["Has a dog named Rex", "Has a dog named Fido"])
    assert len(facts.memory(ada)) == 2
