"""Images are described where a vision model is configured; the description is found like the message's own words."""

import struct
import zlib
from io import BytesIO

import pytest

from memory import capture, outbox
from memory.capture import enrich, images
from memory.capture.links import ENRICH
from memory.errors import ModelMissing, ModelRejected, ModelReplyInvalid, ModelUnavailable
from memory.models import OutboxEntry
from memory.types import AttachmentInfo
from tests.factories import START, incoming, person
from tests.memory.enrich_support import attachment, cdn, picture, vision
from tests.memory.memory_support import found_by_words, message, opted_in, say, vector, work
from tests.memory.web_servers import response

__all__ = ["cdn", "vision"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_refresher():
    yield
    enrich.supply_refresher(None)


def waiting() -> list[OutboxEntry]:
    return list(OutboxEntry.objects.filter(kind=ENRICH))


def image(key: int) -> dict:
    (found,) = message(key).content["attachments"]
    return found


def test_an_image_is_described_once_and_found_by_its_description(cdn, vision):
    key = say(opted_in(), "from my walk", attachments=(attachment(cdn),))
    work("embed")
    before = vector(key)
    work(ENRICH)
    row = message(key)
    assert set(image(key)) == {"filename", "url", "type", "interpretation"}
    assert image(key)["interpretation"] == row.captions == "A red lighthouse on a cliff"
    assert found_by_words("lighthouse") == [key] == found_by_words("walk")
    assert row.embedding == "pending"
    work("embed")
    assert message(key).embedding == "done" and (vector(key) != before).any()
    work(ENRICH)
    assert len(vision.seen) == len(cdn.paths) == 1


def test_an_image_alone_is_a_memory_where_vision_is_on(cdn, vision):
    key = say(opted_in(), "", attachments=(attachment(cdn),))
    assert message(key).embedding == "none"
    work(ENRICH)
    work("embed")
    assert found_by_words("lighthouse") == [key]
    assert message(key).embedding == "done" and vector(key) is not None


def test_without_vision_an_image_alone_is_not_stored_and_nothing_is_fetched(cdn):
    author = opted_in()
    assert capture.record_message(incoming("", author=author, attachments=(attachment(cdn),))) is None
    key = say(author, "with words", attachments=(attachment(cdn),))
    assert message(key).content["attachments"] == [] and waiting() == []
    assert cdn.paths == []


def test_nothing_is_described_for_those_who_have_not_opted_in(cdn, vision):
    assert capture.record_message(incoming("", author=person(), attachments=(attachment(cdn),))) is None
    work(ENRICH)
    assert cdn.paths == [] and vision.seen == []


def test_the_first_frame_of_a_gif(cdn, vision):
    from PIL import Image

    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(path := BytesIO(), "GIF", save_all=True, append_images=frames[1:])
    cdn.answer = lambda head: response(path.getvalue(), content_type="image/gif")
    say(opted_in(), "", attachments=(attachment(cdn, "dance.gif", "image/gif"),))
    work(ENRICH)
    with Image.open(BytesIO(vision.seen[0])) as seen:
        red, _, blue = seen.convert("RGB").getpixel((4, 4))
        assert seen.format == "JPEG" and red > 200 > 50 > blue


def test_jpeg_and_png_go_as_they_are_and_webp_is_converted():
    for kind in ("JPEG", "PNG"):
        assert images.for_model(picture(kind)) == picture(kind)
    assert images.for_model(picture("WEBP")).startswith(b"\xff\xd8\xff")


def huge_png(width: int, height: int) -> bytes:
    """A header that promises more than there is."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    begin = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    return begin + struct.pack(">I", 1000) + b"IDAT" + bytes(100)


@pytest.mark.parametrize(
    "data, kind, code",
    [
        (huge_png(5001, 5000), "image/png", "image_too_large"),
        (huge_png(60000, 60000), "image/png", "image_too_large"),
        (b"not an image", "image/png", "image_unusable"),
        (picture("GIF", (64, 64))[:60], "image/gif", "image_unusable"),
        (picture("BMP"), "image/png", "image_unusable"),
        (bytes(10_000_001), "image/png", "too_large"),
        (picture(), "image/svg+xml", "content_type"),
    ],
    ids=["pixels", "many pixels", "no image", "cut off", "another format", "bytes", "type"],
)
def test_images_that_are_not_looked_at(cdn, vision, data, kind, code):
    cdn.answer = lambda head: response(data, content_type=kind)
    key = say(opted_in(), "look", attachments=(attachment(cdn),))
    work(ENRICH)
    assert image(key)["error"] == code and image(key)["interpretation"] is None
    assert vision.seen == [] and waiting() == []
    work("embed")
    assert message(key).embedding == "done"


@pytest.mark.parametrize("error", [ModelUnavailable(), ModelMissing()])
def test_a_model_that_is_away_is_waited_for(cdn, vision, error):
    vision.error = error
    key = say(opted_in(), "", attachments=(attachment(cdn),))
    for _ in range(outbox.MAX_ATTEMPTS + 3):
        work(ENRICH)
    assert [(entry.state, entry.error_code) for entry in waiting()] == [("queued", error.code)]
    vision.error = None
    work(ENRICH)
    assert message(key).captions and waiting() == []


@pytest.mark.parametrize("error, tries", [(ModelRejected(), 1), (ModelReplyInvalid(), outbox.MAX_ATTEMPTS)])
def test_an_image_that_the_model_refuses_is_noted(cdn, vision, error, tries):
    vision.error = error
    key = say(opted_in(), "look", attachments=(attachment(cdn),))
    for _ in range(tries):
        work(ENRICH)
    assert len(vision.seen) == tries and waiting() == []
    assert image(key)["error"] == error.code


def expired(head):
    if b"ex=2" in head:
        return response(picture(), content_type="image/png")
    return response(b"This content is no longer available.", status="404 Not Found")


def test_an_expired_link_is_asked_for_anew_through_its_message(cdn, vision):
    cdn.answer = expired
    key = say(opted_in(), "look", attachments=(attachment(cdn),))
    old = image(key)["url"]
    asked = []

    def refresh(channel_id, message_id):
        asked.append((channel_id, message_id))
        return [AttachmentInfo(id=1, filename="photo.png", url=old.replace("ex=1", "ex=2"))]

    enrich.supply_refresher(refresh)
    work(ENRICH)
    assert asked == [(message(key).channel_id, message(key).discord_id)]
    assert image(key)["url"] == old.replace("ex=1", "ex=2")
    assert message(key).captions and waiting() == []


def test_an_expired_link_stays_marked_until_somebody_can_ask(cdn, vision):
    cdn.answer = expired
    key = say(opted_in(), "look", attachments=(attachment(cdn),))
    work(ENRICH)
    assert image(key)["error"] == "link_expired"
    assert [(entry.state, entry.error_code) for entry in waiting()] == [("failed", "link_expired")]
    url = image(key)["url"].replace("ex=1", "ex=2")
    enrich.supply_refresher(lambda *ids: [AttachmentInfo(id=1, filename="photo.png", url=url)])
    assert outbox.retry(ENRICH) == 1
    work(ENRICH)
    assert message(key).captions and "error" not in image(key) and waiting() == []


def test_an_image_alone_whose_words_are_edited_before_it_is_described_stays(cdn, vision):
    key = say(opted_in(), "look", attachments=(attachment(cdn),))
    capture.edit_message(discord_id=message(key).discord_id, text="", edited_at=START)
    work(ENRICH)
    work("embed")
    assert found_by_words("lighthouse") == [key] and found_by_words("look") == []
