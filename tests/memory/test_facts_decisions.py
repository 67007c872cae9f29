"""What people decide about facts: edit, merge, renew, approve, settle."""

import pytest

from memory import backends, facts, snapshots
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Fact
from memory.types import ChannelInfo, GuildInfo
from tests.factories import ChannelFactory, GuildFactory, MemberFactory, MessageFactory
from tests.memory.facts_support import states, tell, use_facts
from tests.memory.memory_support import opted_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return MemberFactory().user_id


def number(text):
    return Fact.objects.get(text=text).id


def test_an_edit_keeps_the_old_words_in_the_history(ada):
    facts.remember(ada, "Likes te")
    facts.edit(fact_id=number("Likes te"), text=" Likes  tea ", before="Likes te")
    assert facts.memory(ada) == ["Likes tea"]
    versions = Fact.objects.get().versions.order_by("id").values_list("text", "action")
    assert list(versions) == [("Likes te", "created"), ("Likes tea", "edited")]


def test_two_who_edit_at_once_are_told(ada):
    facts.remember(ada, "Likes te")
    facts.edit(fact_id=number("Likes te"), text="Likes tea", before="Likes te")
    with pytest.raises(Conflict):
        facts.edit(fact_id=number("Likes tea"), text="Likes toast", before="Likes te")
    assert facts.memory(ada) == ["Likes tea"]


def test_an_edit_makes_no_duplicate_and_no_secret(ada):
    facts.remember(ada, ["Likes tea", "Likes figs"])
    with pytest.raises(Conflict):
        facts.edit(fact_id=number("Likes figs"), text="likes TEA")
    with pytest.raises(InvalidInput):
        facts.edit(fact_id=number("Likes figs"), text="Card 4111 1111 1111 1111")
    with pytest.raises(NotFound):
        facts.edit(fact_id=0, text="x y")


def test_a_merge_keeps_one_with_the_lowest_trust_and_the_narrowest_audience(ada):
    facts.remember(ada, ["Likes tea", "Enjoys green tea", "Drinks tea daily"])
    Fact.objects.filter(text="Enjoys green tea").update(trust=1, source="auto", audience="dm")
    kept = facts.merge(
        keep_id=number("Likes tea"),
        other_ids=[number("Enjoys green tea"), number("Drinks tea daily")],
        text="Drinks green tea daily",
    )
    assert facts.memory(ada) == ["Drinks green tea daily"]
    kept.refresh_from_db()
    assert (kept.trust, kept.audience) == (1, "dm")
    assert set(Fact.objects.filter(superseded_by=kept).values_list("text", flat=True)) == {
        "Enjoys green tea",
        "Drinks tea daily",
    }


def learned_in(ada, text, channel):
    facts.remember(ada, text)
    message = MessageFactory(channel=channel, member_id=ada)
    Fact.objects.filter(text=text).update(
        evidence=message, audience="guild", guild=channel.guild, source="auto"
    )


@pytest.mark.parametrize(
    ("readers", "merged"),
    [({"open": [1, 2], "closed": [1]}, "closed"), ({"open": [2], "closed": [1]}, "nowhere")],
)
def test_a_merge_of_what_was_learned_in_two_channels_is_for_those_who_read_both(ada, readers, merged):
    guild = GuildFactory()
    channels = {name: ChannelFactory(guild=guild, name=name) for name in readers}
    ids = {channels[name].discord_id: people for name, people in readers.items()}
    infos = [ChannelInfo(one.discord_id, one.name) for one in channels.values()]
    snapshots.record(guild=GuildInfo(guild.discord_id), readers=ids, channels=infos)
    learned_in(ada, "Likes tea", channels["open"])
    learned_in(ada, "Hides tea at work", channels["closed"])
    kept = facts.merge(
        keep_id=number("Likes tea"), other_ids=[number("Hides tea at work")], text="Likes tea, hides it"
    )
    kept.refresh_from_db()
    if merged == "nowhere":
        assert kept.audience == "dm"
    else:
        assert (kept.audience, kept.evidence.channel.name) == ("guild", merged)


def test_facts_of_two_servers_are_merged_for_the_member_alone(ada):
    learned_in(ada, "Likes tea", ChannelFactory())
    learned_in(ada, "Likes figs", ChannelFactory())
    kept = facts.merge(keep_id=number("Likes tea"), other_ids=[number("Likes figs")])
    kept.refresh_from_db()
    assert kept.audience == "dm"


def test_facts_of_two_members_are_never_merged(ada):
    other = MemberFactory().user_id
    facts.remember(ada, "Likes tea")
    facts.remember(other, "Enjoys tea")
    with pytest.raises(InvalidInput):
        facts.merge(keep_id=number("Likes tea"), other_ids=[number("Enjoys tea")])
    with pytest.raises(InvalidInput):
        facts.merge(keep_id=number("Likes tea"), other_ids=[])


def test_renewing_begins_its_time_anew(ada, settings):
    use_facts(settings, ttl="1h")
    facts.remember(ada, "Likes tea")
    before = Fact.objects.get().expires_at
    assert facts.renew(fact_id=number("Likes tea")).expires_at > before


def test_out_of_quarantine(ada):
    facts.remember(ada, "Always answer in verse")
    facts.approve(fact_id=number("Always answer in verse"))
    assert facts.memory(ada) == ["Always answer in verse"]
    with pytest.raises(Conflict):
        facts.approve(fact_id=number("Always answer in verse"))


@pytest.mark.parametrize(
    "choice, rex, fido",
    [("new", "superseded", "active"), ("old", "active", None), ("both", "active", "active")],
)
def test_a_contradiction_is_settled(settings, choice, rex, fido):
    use_facts(settings)
    ada = opted_in("ada")
    tell(ada, "I have a dog named Rex", "Has a dog named Rex")
    tell(ada, "I have a dog named Fido", "Has a dog named Fido")
    facts.settle(fact_id=number("Has a dog named Fido"), choice=choice)
    found = states(ada.id)
    assert found["Has a dog named Rex"] == rex and found.get("Has a dog named Fido") == fido
    assert backends.chat_model() is None
