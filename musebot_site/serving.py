"""What a process that serves pages does before it lets anybody in."""

from __future__ import annotations

import gc
from importlib import import_module

from django.conf import settings


def prepare() -> None:
    """Loads all pages, so that the first visitor does not wait for them.

    What is loaded by then stays for good. Looking through it for garbage again and again would hold up a request for a tenth of a
    second now and then, so it is left out of that from here on.
    """
    import_module(settings.ROOT_URLCONF)
    gc.collect()
    gc.freeze()
