"""The one place that chooses implementations: which embedder, chat model, vision model and indexes are configured.

What is chosen is kept for the life of the process, or until the configuration that it came from is another one. Implementations
are imported where they are used, so that a command that needs none of them loads none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from memory.conf import Config, ModelRef, get_config
from memory.errors import ConfigurationError, MemoryDisabled, ModelError, ModelUnavailable

if TYPE_CHECKING:
    from memory.index.base import TextIndex, VectorIndex
    from memory.llm.base import ChatModel, Embedder, VisionModel
    from memory.llm.ollama_pool import HostPool
    from memory.models import EmbeddingSpace

T = TypeVar("T")

_lock = threading.RLock()
_kept: dict[str, tuple[Hashable, Any]] = {}
_overrides: dict[str, Any] = {}

VISION = "vision"
"""Name of the ``InstallationState`` that says whether the chat model sees images."""
EMBEDDING_TIMEOUT = 60.0
"""Seconds for a batch of documents, loading of the model included."""


def embedder() -> Embedder:
    """The configured embedder. Raises ``MemoryDisabled`` where long-term memory is off."""
    if "embedder" in _overrides:
        given: Embedder = _given("embedder")
        return given
    config = get_config()
    reference = config.memory.embedding_model
    if reference is None:
        raise MemoryDisabled()
    key = (reference, config.ollama, config.openai, config.memory.recall_timeout)
    return _once("embedder", key, lambda: _make_embedder(reference, config))


def embedder_for(reference: ModelRef) -> Embedder:
    """An embedder beside the configured one: that of vectors which serve until those of another model are built."""
    if "older_embedder" in _overrides:
        older: Embedder = _given("older_embedder")
        return older
    config = get_config()
    key = (reference, config.ollama, config.openai, config.memory.recall_timeout)
    return _once("older embedder", key, lambda: _make_embedder(reference, config))


def embedder_of(space: EmbeddingSpace) -> Embedder:
    """The model that made a space's vectors: the configured one, or another by its name. No host is asked.

    Whether it answers, and is the same build, its ``identity`` tells. Raises ``MemoryDisabled``, and ``ModelUnavailable`` for a
    model that this installation cannot ask.
    """
    configured = embedder()
    if "older_embedder" in _overrides:
        return configured if _made(configured, space) else embedder_for(ModelRef(provider="hash"))
    reference = get_config().memory.embedding_model
    if "embedder" in _overrides or reference is None or _is_named(space, reference):
        return configured
    if space.provider not in {"ollama", "openai", "local", "hash"}:
        raise ModelUnavailable(f"The model {space} is not known here.")
    name = space.name if space.provider in {"ollama", "openai"} else ""
    return embedder_for(ModelRef.model_validate({"provider": space.provider, "name": name}))


def chat_model() -> ChatModel | None:
    """The configured chat model; None where there is none and answers are put together from what was recalled."""
    if "chat_model" in _overrides:
        given: ChatModel | None = _given("chat_model")
        return given
    config = get_config()
    reference = config.chat.model
    if reference is None or reference.provider == "local":
        return None
    return _once("chat", _chat_key(reference, config), lambda: _make_chat(reference, config))


def extraction_model(reference: ModelRef) -> ChatModel:
    """A chat model of its own for background work; the one that is given where a chat model is."""
    if "chat_model" in _overrides and _overrides["chat_model"] is not None:
        given: ChatModel = _given("chat_model")
        return given
    config = get_config()
    return _once("extraction", _chat_key(reference, config), lambda: _make_chat(reference, config))


def vision_model() -> VisionModel | None:
    """What describes images: the configured model, else a chat model that was found to see (``notice_vision``); None for neither."""
    if "vision_model" in _overrides:
        given: VisionModel | None = _given("vision_model")
        return given
    config = get_config()
    reference = config.memory.vision_model or _seeing_chat_model(config)
    if reference is None:
        return None

    def make() -> VisionModel:
        from memory.llm.vision import ImageDescriber

        return ImageDescriber(_make_chat(reference, config))

    return _once("vision", _chat_key(reference, config), make)


def describes_images() -> bool:
    """Whether there is a vision model, without making it: what capture asks before it stores a message that is an image alone."""
    if "vision_model" in _overrides:
        return _given("vision_model") is not None
    config = get_config()
    return (config.memory.vision_model or _seeing_chat_model(config)) is not None


def notice_vision() -> None:
    """Asks the hosts whether the chat model sees images, and notes the answer for ``vision_model``, which asks nobody."""
    config = get_config()
    reference = config.chat.model
    if not config.memory.vision_by_chat_model or reference is None or reference.provider != "ollama":
        return
    from memory.models import InstallationState

    sees = _ollama_pool(config).is_able(reference.name, "vision")
    noted = {"model": str(reference), "sees": sees}
    InstallationState.objects.update_or_create(name=VISION, defaults={"value": noted})


def _seeing_chat_model(config: Config) -> ModelRef | None:
    reference = config.chat.model
    if not config.memory.vision_by_chat_model or reference is None or reference.provider != "ollama":
        return None
    from memory.models import InstallationState

    noted = InstallationState.objects.filter(name=VISION).values_list("value", flat=True).first()
    return reference if noted == {"model": str(reference), "sees": True} else None


def vector_index(space: EmbeddingSpace) -> VectorIndex:
    """The index of one embedding space."""
    if _on_postgres():
        from memory.index.pgvector import PgVectorIndex

        return PgVectorIndex(space_id=space.pk, dimension=space.dimension)
    from memory.index.sqlite_vec import SqliteVecIndex

    return SqliteVecIndex(space_id=space.pk, dimension=space.dimension)


def text_index() -> TextIndex:
    """The full-text index."""
    if _on_postgres():
        from memory.index.pg_fulltext import PostgresTextIndex

        return PostgresTextIndex()
    from memory.index.fulltext import Fts5Index

    return Fts5Index()


def _on_postgres() -> bool:
    from django.db import connection

    return connection.vendor == "postgresql"


def reset() -> None:
    """Forgets what was made, so that the next call makes it anew."""
    with _lock:
        _kept.clear()


@contextmanager
def override(**given: Any) -> Iterator[None]:
    """Serves these instead while the block runs, in all threads: ``embedder=``, ``chat_model=``, ``vision_model=``.

    ``older_embedder=`` is the model of vectors that serve until those of ``embedder=`` are built. For tests. ``None`` stands for what is not configured.
    """
    unknown = set(given) - {"embedder", "older_embedder", "chat_model", "vision_model"}
    if unknown:
        raise TypeError(f"There is no backend named {', '.join(sorted(unknown))}.")
    with _lock:
        before = dict(_overrides)
        _overrides.update(given)
    try:
        yield
    finally:
        with _lock:
            _overrides.clear()
            _overrides.update(before)


def _given(name: str) -> Any:
    if _overrides[name] is None and name == "embedder":
        raise MemoryDisabled()
    if _overrides[name] is None and name == "older_embedder":
        raise ModelUnavailable()
    return _overrides[name]


def _once(kind: str, key: Hashable, make: Callable[[], T]) -> T:
    with _lock:
        kept = _kept.get(kind)
        if kept is None or kept[0] != key:
            kept = _kept[kind] = (key, make())
        made: T = kept[1]
        return made


def _chat_key(reference: ModelRef, config: Config) -> Hashable:
    return (reference, config.ollama, config.openai, config.chat.context_window, config.chat.request_timeout)


def _ollama_pool(config: Config) -> HostPool:
    """One for chat, embedding and vision, so that all know how busy a host is."""
    from memory.llm.ollama_pool import HostPool

    return _once("ollama", config.ollama, lambda: HostPool(config.ollama.hosts))


def _make_embedder(reference: ModelRef, config: Config) -> Embedder:
    if reference.provider == "local":
        from memory.llm.local import LocalEmbedder

        return LocalEmbedder()
    if reference.provider == "hash":
        from memory.llm.hashing import HashEmbedder

        return HashEmbedder()
    query_timeout = config.memory.recall_timeout
    if reference.provider == "ollama":
        from memory.llm.ollama_embed import OllamaEmbedder

        return OllamaEmbedder(
            _ollama_pool(config),
            reference.name,
            read_timeout=EMBEDDING_TIMEOUT,
            query_timeout=query_timeout,
            known=lambda: _known_build(reference.name),
        )
    from memory.llm.openai_compat import OpenAIEmbedder
    from memory.llm.openai_http import OpenAIServer

    url = config.openai.embedding_base_url or config.openai.base_url
    # A key goes only to the server it was given for.
    secret = config.openai.embedding_api_key if config.openai.embedding_base_url else None
    if secret is None and url == config.openai.base_url:
        secret = config.openai.embedding_api_key or config.openai.api_key
    key = secret.get_secret_value() if secret else ""
    return OpenAIEmbedder(
        OpenAIServer(url, key, read_timeout=EMBEDDING_TIMEOUT),
        reference.name,
        query_server=OpenAIServer(url, key, read_timeout=query_timeout),
    )


def _make_chat(reference: ModelRef, config: Config) -> ChatModel:
    window, timeout = config.chat.context_window, config.chat.request_timeout
    if reference.provider == "ollama":
        from memory.llm.ollama import OllamaChat

        return OllamaChat(_ollama_pool(config), reference.name, context_window=window, read_timeout=timeout)
    if reference.provider == "openai":
        from memory.llm.openai_compat import OpenAIChat
        from memory.llm.openai_http import OpenAIServer

        secret = config.openai.api_key
        server = OpenAIServer(
            config.openai.base_url, secret.get_secret_value() if secret else "", read_timeout=timeout
        )
        return OpenAIChat(server, reference.name, context_window=window)
    raise ConfigurationError(f"{reference} cannot chat; write ollama:NAME or openai:NAME.")


def _made(embedder: Embedder, space: EmbeddingSpace) -> bool:
    try:
        now = embedder.identity()
    except ModelError:
        return False
    return (now.provider, now.name, now.digest, now.dimension) == (
        space.provider,
        space.name,
        space.digest,
        space.dimension,
    )


def _is_named(space: EmbeddingSpace, reference: ModelRef) -> bool:
    """Whether a space is of this model, whatever the build."""
    if space.provider != reference.provider:
        return False
    if reference.provider == "ollama":
        from memory.llm.ollama_hosts import normal_name

        return normal_name(reference.name).removesuffix(":latest") == space.name
    return reference.provider in {"local", "hash"} or reference.name == space.name


def _known_build(name: str) -> tuple[str, int] | None:
    """Digest and dimension that the stored vectors of an Ollama model are of, if there are any."""
    from memory.llm.ollama_hosts import normal_name
    from memory.models import EmbeddingSpace

    space = (
        EmbeddingSpace.objects.filter(
            provider="ollama",
            name=normal_name(name).removesuffix(":latest"),
        )
        # The one that serves before one that is being built.
        .exclude(state=EmbeddingSpace.State.RETIRED)
        .order_by("state", "-pk")
        .first()
    )
    return (space.digest, space.dimension) if space else None
