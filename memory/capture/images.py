"""Images as a vision model takes them. Their size is read from the header, before anything is unpacked."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from memory.errors import MusebotError

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MOST_PIXELS = 25_000_000
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")


class ImageUnusable(MusebotError):
    """This is no JPEG, PNG, WebP or GIF, or it is broken."""

    code = "image_unusable"
    status = 422


class ImageTooLarge(ImageUnusable):
    """The image has too many pixels."""

    code = "image_too_large"


def for_model(data: bytes) -> bytes:
    """JPEG and PNG as they are; the first frame of others as JPEG. Raises ``ImageUnusable``."""
    from PIL import Image

    try:
        with Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ImageTooLarge()
            if image.format in {"JPEG", "PNG"}:
                return data
            return _first_frame(image)
    except Image.DecompressionBombError:
        raise ImageTooLarge() from None
    except MusebotError:
        raise
    except Exception:  # decoders raise anything on broken data
        raise ImageUnusable() from None


def _first_frame(image: Picture) -> bytes:
    from PIL import Image

    colours = image.convert("RGBA")
    page = Image.new("RGB", colours.size, "white")
    page.paste(colours, mask=colours.getchannel("A"))
    output = BytesIO()
    page.save(output, "JPEG", quality=90)
    return output.getvalue()
