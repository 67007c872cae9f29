"""What was said before: whole histories for those who opt in, and what was missed while the bot was away.

Here is what is remembered of it: who waits, which channel was read how far, what became of each page. Reading itself is done by
whoever can reach Discord: it asks for ``open_work``, fetches, and hands each page to ``commit_page``.
"""

from memory.capture.backfill.catch_up import begin_catch_up, commit_window, flush_marks, missing_rows
from memory.capture.backfill.cohorts import begin_due, cancel, pause, request, resume
from memory.capture.backfill.listing import due_listings, listed, listing_failed
from memory.capture.backfill.pages import (
    close_channel,
    commit_page,
    commit_replies,
    open_work,
    postpone,
    replies_to_fetch,
    wanted_people,
)
from memory.capture.backfill.progress import (
    MemberProgress,
    ScanProgress,
    channels,
    member_progress,
    progress,
    told,
    untold,
)
from memory.capture.backfill.queue import HISTORY, extend, nudge, rest
from memory.capture.backfill.types import PAGE, ChannelWork, ListedChannel, Page, id_at, time_of

__all__ = [
    "HISTORY",
    "PAGE",
    "ChannelWork",
    "ListedChannel",
    "MemberProgress",
    "Page",
    "ScanProgress",
    "begin_catch_up",
    "begin_due",
    "cancel",
    "channels",
    "close_channel",
    "commit_page",
    "commit_replies",
    "commit_window",
    "due_listings",
    "extend",
    "flush_marks",
    "id_at",
    "listed",
    "listing_failed",
    "member_progress",
    "missing_rows",
    "nudge",
    "open_work",
    "pause",
    "postpone",
    "progress",
    "replies_to_fetch",
    "request",
    "rest",
    "resume",
    "time_of",
    "told",
    "untold",
    "wanted_people",
]
