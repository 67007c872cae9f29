"""A page and images that are served here, and a vision model that says what it is told."""

from __future__ import annotations

from functools import partial
from io import BytesIO

import pytest
from PIL import Image

from memory import backends
from memory.capture import enrich
from memory.conf import ModelRef
from memory.llm.vision import image_type
from memory.types import AttachmentInfo
from memory.web import fetch
from tests.factories import snowflake
from tests.memory.web_servers import PUBLIC, Names, open_web, response, serve

__all__ = ["attachment", "cdn", "open_web", "picture", "site", "vision"]

LINK = "http://pages.test/tides"
PAGE = (
    b"<title>How tides work</title><article><p>Twice a day the sea rises, because the moon pulls at the water, "
    b"and the water follows, as it has always done.</p></article>"
)


class Site:
    """A web server; ``answer`` may be replaced."""

    def __init__(self) -> None:
        self.answer = lambda head: response(PAGE)
        self.server = None

    @property
    def paths(self) -> list[str]:
        return [head.split()[1].decode() for head in self.server.requests]


@pytest.fixture
def site(open_web, monkeypatch):
    """``http://pages.test/``, as if it were on the public internet."""
    site = Site()
    with serve(lambda head: site.answer(head), host=PUBLIC) as site.server:
        open_web(site.server)
        monkeypatch.setattr(enrich, "fetch", partial(fetch, resolver=Names(pages_test=[[PUBLIC]])))
        yield site


@pytest.fixture
def cdn(settings):
    """Discord's host of attachments, which the operator configured: it serves one picture at every path."""
    site = Site()
    site.answer = lambda head: response(picture(), content_type="image/png")
    with serve(lambda head: site.answer(head)) as site.server:
        discord = settings.MUSEBOT.discord.model_copy(update={"cdn_hosts": (site.server.name,)})
        settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
        yield site


class Eyes:
    name = "eyes"

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.says = "A red lighthouse on a cliff"
        self.error: Exception | None = None

    def describe(self, image: bytes, *, hint: str = "") -> str:
        assert image_type(image)
        self.seen.append(image)
        if self.error:
            raise self.error
        return self.says


@pytest.fixture
def vision(settings):
    memory = settings.MUSEBOT.memory.model_copy(
        update={"vision_model": ModelRef(provider="ollama", name="eyes")}
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": memory})
    eyes = Eyes()
    with backends.override(vision_model=eyes):
        yield eyes


def picture(kind: str = "PNG", size: tuple[int, int] = (4, 4), **options: object) -> bytes:
    output = BytesIO()
    Image.new("P" if kind == "GIF" else "RGB", size).save(output, kind, **options)
    return output.getvalue()


def attachment(cdn: Site, filename: str = "photo.png", content_type: str = "image/png") -> AttachmentInfo:
    return AttachmentInfo(
        id=snowflake(),
        filename=filename,
        url=f"{cdn.server.url}attachments/1/2/{filename}?ex=1",
        content_type=content_type,
        size=100,
    )
