"""Two servers with something in each, a private conversation, and one account of every kind."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from memory import access, roles
from memory.models import (
    Document,
    DocumentVersion,
    ErasureRequest,
    Fact,
    Guild,
    MemoryBlock,
    Message,
    PersonaProposal,
    Reply,
    ReplyMemory,
    Role,
    Scan,
    Scope,
)
from tests.factories import START, ChannelFactory, GuildFactory, MemberFactory, MessageFactory

HERE, PRIVATE, NAME = "zanzibar", "xylophone", "Harbour of the first"
"""Words that stand in what belongs to the first server, in private conversations, and in that server's name."""


@dataclass
class World:
    """Ids of what there is; ``clients`` are signed in."""

    guild: Guild
    other: Guild
    private: Guild
    ids: dict[str, Any] = field(default_factory=dict)
    private_ids: dict[str, Any] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)


def build() -> World:
    world = World(
        GuildFactory(name=NAME, message_count=1),
        GuildFactory(name="Other"),
        GuildFactory(kind=Guild.Kind.DM, name="", message_count=1),
    )
    member = MemberFactory(display_name="Person of zanzibar")
    world.ids = _objects(world.guild, member, HERE)
    world.private_ids = _objects(world.private, member, PRIVATE)
    ChannelFactory(guild=world.other)
    for name, role, guild in (
        ("owner", Role.OWNER, None),
        ("moderator", Role.MODERATOR, world.guild),
        ("moderator elsewhere", Role.MODERATOR, world.other),
        ("moderator of all", Role.MODERATOR, None),
        ("privacy", Role.PRIVACY, None),
        ("viewer", Role.VIEWER, None),
        ("nobody", None, None),
    ):
        user = User.objects.create_user(name.replace(" ", "-"), password="a-long-enough-password")
        if role is not None:
            roles.grant(user_id=user.pk, role=role, guild=guild.discord_id if guild else None, by="command")
        world.clients[name] = Client()
        world.clients[name].force_login(user)
        world.ids["account_id"] = user.pk
    world.clients["anonymous"] = Client()
    return world


def _objects(guild: Guild, member: Any, word: str) -> dict[str, Any]:
    channel = ChannelFactory(guild=guild, name=f"{word}-channel", message_count=1)
    message: Message = MessageFactory(channel=channel, member=member, text=f"the {word} is remembered")
    fact = Fact.objects.create(
        member=member,
        namespace="ai.memory",
        text=f"Likes the {word}",
        normal=word,
        source="auto",
        evidence=message,
        audience="dm" if guild.kind == Guild.Kind.DM else "guild",
        guild=guild,
        said_at=START,
    )
    reply = Reply.objects.create(
        guild=guild,
        channel_id=channel.discord_id,
        asker_id=member.user_id,
        question=message,
        kind="model",
        state="done",
    )
    ReplyMemory.objects.create(reply=reply, message=message, rank=1, score=1.0)
    block = MemoryBlock.objects.create(
        scope=Scope.SESSION,
        scope_key=channel.discord_id,
        label="working_context",
        value=f"about the {word}",
        limit=4000,
        version=1,
        member=member,
    )
    proposal = PersonaProposal.objects.create(
        scope=Scope.GUILD if guild.kind == Guild.Kind.GUILD else Scope.GLOBAL,
        scope_key=guild.discord_id if guild.kind == Guild.Kind.GUILD else 0,
        value=f"You speak of the {word}.",
    )
    document = Document.objects.create(name=f"{word}.md", everywhere=False)
    document.guilds.add(guild)
    for number in (1, 2):
        version = DocumentVersion.objects.create(
            document=document, number=number, state="ready", stored_name="x", digest=str(number), size=1
        )
        document.active = document.active or version
    document.save()
    request = ErasureRequest.objects.create(
        subject="0" * 32, epoch=1, origin="admin", state="done", finished_at=START
    )
    return {
        "key": message.key,
        "fact_id": fact.pk,
        "trace_id": reply.id,
        "block": block.pk,
        "proposal": proposal.pk,
        "document_id": document.pk,
        "version_number": 2,
        "user_id": member.user_id,
        "guild_id": guild.discord_id,
        "channel_id": channel.discord_id,
        "key_id": access.make_key(name=word)[0].pk,
        "request_id": request.id,
        "scan_id": Scan.objects.create(guild=guild, kind="backfill", begins_at=START, due_at=START).pk,
        "token": "nothing",
        "absent": uuid.UUID(int=1),
    }
