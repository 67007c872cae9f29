"""``config.jsonc`` in Musebot's keys, the environment over it, and messages that say what to do."""

import json
import os
import stat

import pytest

from memory.errors import ConfigurationError
from musebot_site.config import kept_secret, load_config

MUSEBOT_FILE = """
{
  // An existing file, comments and trailing commas included.
  "global": {"taskQueue": {"numAttempts": 10}},
  "bots": [
    {
      "botId": "bot-1",
      "mode": "chat",
      "requiresMention": false,
      "responseRate": 40,
      "errorMessage": "Sorry.",
      "chatApis": {"discord": {
        "token": "from-file",
        "channels": ["YOUR_CHANNEL_ID_1", "123"],
        "channelsDisallowed": ["456"],
        "privateMessageUsers": ["ada"],
      }},
      "ollama": {
        "hosts": ["http://localhost:11434/"],
        "models": ["gemma4:12b"],
        "systemPrompt": "Be kind.",
        "streamsResponse": false,
        "embeddingModel": "nomic-embed-text",
        "topK": 7,
      },
    },
    {"botId": "bot-2", "ollama": {"hosts": [], "models": []}},
  ],
}
"""


@pytest.fixture
def load(tmp_path):
    def load(file: str | None = None, **env: str):
        if file is not None:
            (tmp_path / "config.jsonc").write_text(file)
        return load_config({"MUSEBOT_HOME": str(tmp_path / "home"), **env}, project=tmp_path)

    return load


def test_without_anything_configured_memory_works_and_no_model_answers(load):
    config = load()
    assert str(config.memory.embedding_model) == "local"
    assert config.chat.model is None
    assert config.memory.top_k == 24
    assert config.database_path.parts[-4:] == ("workflows", "musebot", "txt2txt", "memory.db")


def test_an_existing_file_of_musebot_is_understood(load):
    config = load(MUSEBOT_FILE)
    assert config.bot_id == "bot-1"
    assert config.discord.token.get_secret_value() == "from-file"
    assert config.discord.channels == {123}
    assert config.discord.channels_disallowed == {456}
    assert config.discord.private_message_users == {"ada"}
    assert (config.discord.requires_mention, config.discord.response_rate) == (False, 40)
    assert config.ollama.hosts == ("http://localhost:11434",)
    assert str(config.chat.model) == "ollama:gemma4:12b"
    assert (config.chat.system_prompt, config.chat.streams_response) == ("Be kind.", False)
    assert str(config.memory.embedding_model) == "ollama:nomic-embed-text"
    assert config.memory.top_k == 7
    assert config.chat.error_message == "Sorry."


def test_the_environment_wins_over_the_file_and_says_so(load):
    config = load(
        MUSEBOT_FILE,
        DISCORD_TOKEN="from-environment",
        OLLAMA_HOSTS="gpu:11434, http://other:1",
        MUSEBOT_EMBEDDING_MODEL="local",
        MUSEBOT_CHAT_MODEL="openai:gpt-x",
    )
    assert config.discord.token.get_secret_value() == "from-environment"
    assert config.ollama.hosts == ("http://gpu:11434", "http://other:1")
    assert str(config.memory.embedding_model) == "local"
    assert str(config.chat.model) == "openai:gpt-x"
    assert config.sources["discord.token"] == "DISCORD_TOKEN"
    assert config.sources["topK"] == "config.jsonc"


@pytest.mark.parametrize(
    "file, env",
    [
        (None, {"MUSEBOT_EMBEDDING_MODEL": ""}),
        ('{"bots": [{"botId": "b", "ollama": {"models": ["m"]}}]}', {}),
    ],
)
def test_memory_is_off_where_the_embedding_model_is_left_out_on_purpose(load, file, env):
    assert load(file, **env).memory_enabled is False


def test_a_file_that_says_nothing_of_ollama_leaves_the_built_in_embedder_on(load):
    assert str(load('{"bots": [{"botId": "b"}]}').memory.embedding_model) == "local"


def test_the_specifications_embedding_variables_stand_between_environment_and_file(load):
    variables = {"LLM_EMBEDDING_PROVIDER": "openai", "LLM_EMBEDDING_MODEL": "text-embedding-3-small"}
    assert str(load(MUSEBOT_FILE, **variables).memory.embedding_model) == "openai:text-embedding-3-small"
    assert (
        str(load(MUSEBOT_FILE, **variables, MUSEBOT_EMBEDDING_MODEL="local").memory.embedding_model)
        == "local"
    )


def test_one_process_serves_one_bot_of_the_list(load):
    assert load(MUSEBOT_FILE, MUSEBOT_BOT_ID="bot-2").bot_id == "bot-2"
    with pytest.raises(ConfigurationError, match="bot-1, bot-2"):
        load(MUSEBOT_FILE, MUSEBOT_BOT_ID="bot-3")


@pytest.mark.parametrize(
    "file, env, says",
    [
        ("{", {}, "cannot be read"),
        ("[]", {}, 'list "bots"'),
        ('{"bots": []}', {}, 'list "bots"'),
        ('{"bots": [{"botId": "../x"}]}', {}, "name of a folder"),
        ('{"bots": [{"chatApis": "x"}]}', {}, "chatApis"),
        ('{"bots": [{"chatApis": {"discord": {"channels": ["general"]}}}]}', {}, "channel ids"),
        ('{"bots": [{"responseRate": 400}]}', {}, "0 to 100"),
        ('{"bots": [{"ollama": {"embeddingModel": "m", "topK": 0}}]}', {}, "at least 1"),
        ('{"bots": [{"ollama": {"streamsResponse": "maybe"}}]}', {}, "streams_response"),
        (None, {"MUSEBOT_CHAT_MODEL": "gemma"}, "ollama:NAME"),
        (None, {"MUSEBOT_CONFIG": "/nowhere/config.jsonc"}, "no such file"),
    ],
)
def test_what_cannot_work_says_what_to_change(load, file, env, says):
    with pytest.raises(ConfigurationError, match=says):
        load(file, **env)


def test_secrets_are_made_once_and_readable_by_the_owner_only(tmp_path):
    first = kept_secret(tmp_path, "secret_key")
    assert len(first) > 40
    assert kept_secret(tmp_path, "secret_key") == first
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "secrets" / "secret_key").stat().st_mode) == 0o600


def test_secrets_do_not_show_when_the_configuration_is_printed(load):
    config = load(MUSEBOT_FILE)
    shown = repr(config) + json.dumps(config.model_dump(mode="json"), default=str)
    assert "from-file" not in shown
    assert config.privacy_key.get_secret_value().decode() not in shown
