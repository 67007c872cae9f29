"""Brings a chat export in. Only those come in who have opted in, unless the operator says that all of them have."""

from memory.capture.importing.files import ExportFile, open_export
from memory.capture.importing.ids import channel_key, user_key
from memory.capture.importing.musebot import import_musebot, imported_files
from memory.capture.importing.musebot_report import MusebotReport
from memory.capture.importing.service import REASONS, ImportReport, import_messages

__all__ = [
    "REASONS",
    "ExportFile",
    "ImportReport",
    "MusebotReport",
    "channel_key",
    "import_messages",
    "import_musebot",
    "imported_files",
    "open_export",
    "user_key",
]
