"""Reading chat exports: which kind a file is, piece by piece, and ids that stay the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.capture.importing import channel_key, files, ids, open_export, stream, user_key
from memory.errors import InvalidInput

GUILD = 1_300_000_000_000_000_001


def exported(number: int = 1, **values) -> dict:
    return {
        "id": str(1_400_000_000_000_000_000 + number),
        "type": "Default",
        "timestamp": "2026-03-01T12:00:00.123+01:00",
        "timestampEdited": None,
        "content": f"message {number}",
        "author": {
            "id": "1400000000000000901",
            "name": "ada",
            "nickname": "Ada L.",
            "isBot": False,
            "roles": [{"id": "55", "name": "crew", "color": None, "position": 1}],
        },
        "attachments": [],
        "mentions": [],
        **values,
    }


def discord_file(path, messages, **values):
    data = {
        "guild": {"id": str(GUILD), "name": "Harbour", "iconUrl": ""},
        "channel": {"id": "1300000000000000002", "type": "GuildTextChat", "name": "general", "topic": "all"},
        "dateRange": {"after": None, "before": None},
        "messages": messages,
        "messageCount": len(messages),
        **values,
    }
    path.write_text(json.dumps(data, indent=2))
    return path


def lines_file(path, *items):
    path.write_text("\n".join(item if isinstance(item, str) else json.dumps(item) for item in items))
    return path


def line(**values) -> dict:
    return {
        "id": "m001",
        "user_id": "ada",
        "username": "Ada",
        "text": "hello",
        "timestamp": "2026-03-01T12:00:00",
        "channel_id": "general",
        "is_bot": False,
        "reply_to": None,
        **values,
    }


def test_a_discord_export(tmp_path):
    reply = exported(
        2,
        type="Reply",
        timestampEdited="2026-03-01T13:00:00+00:00",
        reference={"messageId": "1400000000000000001", "channelId": "1", "guildId": "1"},
        mentions=[{"id": "7", "name": "ben", "nickname": "Ben", "isBot": False}],
        attachments=[
            {"id": "8", "url": "https://cdn.example/a.png", "fileName": "a.png", "fileSizeBytes": 12}
        ],
    )
    export = open_export(
        discord_file(tmp_path / "x.json", [exported(), reply, exported(3, type="GuildMemberJoin")])
    )
    assert (export.kind, export.guild_id, export.guild_name) == ("discordchatexporter", GUILD, "Harbour")
    first, second, third = export.messages(GUILD)
    assert first.id == 1_400_000_000_000_000_001
    assert first.sent_at == datetime(2026, 3, 1, 11, 0, 0, 123000, tzinfo=UTC)
    assert first.author.display_name == "Ada L." and first.author.roles == ((55, "crew"),)
    assert (first.channel.id, first.channel.name, first.channel.topic) == (
        1300000000000000002,
        "general",
        "all",
    )
    assert second.reply_to == first.id and second.edited_at is not None
    assert second.mentions[0].id == 7 and second.attachments[0].filename == "a.png"
    assert not second.is_system and third.is_system


def test_an_export_on_one_line_with_the_channel_last(tmp_path):
    path = tmp_path / "x.json"
    channel = {"id": "1300000000000000002", "type": "GuildPublicThread", "name": "chat"}
    path.write_text(json.dumps({"messages": [exported()], "messageCount": 1, "channel": channel}))
    (message,) = open_export(path).messages(GUILD)
    assert message.channel.kind == "public_thread"


def test_json_lines(tmp_path):
    path = lines_file(
        tmp_path / "x.jsonl",
        line(),
        "",
        line(id="m002", user_id="1400000000000000901", reply_to="m001", is_bot=True, timestamp=1772366400),
        line(id="m003", timestamp=1772366400000, user_id=42),
    )
    first, second, third = open_export(path).messages(GUILD)
    assert first.channel.name == "general" and first.author.username == "Ada"
    assert second.reply_to == first.id and second.author.is_bot
    assert second.author.id == 1400000000000000901 and third.author.id == 42
    assert second.sent_at == third.sent_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_ids_that_are_not_discords_are_the_same_every_time():
    assert user_key("ada") == user_key("ada") != user_key("ben")
    assert user_key("1400000000000000901") == user_key(1400000000000000901) == 1400000000000000901
    channel = channel_key(GUILD, "general")
    assert channel != channel_key(GUILD + 1, "general")
    assert ids.message_key(GUILD, channel, "1") != ids.message_key(GUILD, channel + 1, "1")
    for made in (user_key("ada"), channel, ids.message_key(GUILD, channel, "m001"), channel_key(GUILD, "7")):
        assert ids.DERIVED <= made <= ids.MAX_ID


@pytest.mark.parametrize(
    "item, why",
    [
        ({"text": None}, "text is missing"),
        ({"text": 5}, "text is not text"),
        ({"timestamp": None}, "timestamp is missing"),
        ({"timestamp": "yesterday"}, "yesterday"),
        ({"timestamp": 1e300}, "out of range"),
        ({"timestamp": "0001-01-01T00:00:00+23:00"}, ""),
        ({"user_id": None}, "user_id is missing"),
        ({"user_id": []}, "user_id is missing"),
        ("{broken", "not an object"),
        ("[1]", "not an object"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path, item, why):
    bad = item if isinstance(item, str) else line(**item)
    path = lines_file(tmp_path / "x.jsonl", line(), bad, line(id="m003"))
    first, second, third = open_export(path).messages(GUILD)
    assert isinstance(second, files.Unreadable) and second.where == 2 and why in second.why
    assert isinstance(first, files.ExportedMessage) and isinstance(third, files.ExportedMessage)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n\n",
        "hello",
        '{"a": ',
        '{"messages": []}',
        "{}" * 2,
        '{\n"messages": 5, "channel": {}}',
        "\x00",
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, content):
    path = tmp_path / "x"
    path.write_text(content)
    with pytest.raises(InvalidInput, match="x is neither"):
        open_export(path)


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(InvalidInput, match="There is no file"):
        open_export(tmp_path / "none")
    with pytest.raises(InvalidInput, match="cannot be read"):
        open_export(tmp_path)
    (tmp_path / "latin").write_bytes(b'{"text": "caf\xe9"}')
    with pytest.raises(InvalidInput, match="UTF-8"):
        open_export(tmp_path / "latin")


def test_halves_of_characters_and_nul_are_taken_out(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(line(text="a\ud800b\0c")))
    (message,) = open_export(path).messages(GUILD)
    message.text.encode()
    assert "\0" not in message.text and message.text.startswith("a")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@given(
    before=st.dictionaries(st.text(), values, max_size=3), items=st.lists(values), chunk=st.integers(1, 30)
)
def test_a_stream_gives_what_the_whole_gives(before, items, chunk):
    import io

    before.pop("messages", None)
    whole = {**before, "messages": items, "count": 12345}
    reader = stream.ObjectReader(io.StringIO(json.dumps(whole, indent=1)), chunk=chunk)
    found = {key: list(value) if key == "messages" else value for key, value in reader.members()}
    assert found == whole
