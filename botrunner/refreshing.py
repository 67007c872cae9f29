"""New links to attachments: Discord's expire after some hours, and the message has to be asked for new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from botrunner.raw import attachments_of
from botrunner.rest import Forbidden, Missing, Rest
from memory.conf import get_config
from memory.types import AttachmentInfo


def fresh_attachments(channel_id: int, message_id: int) -> Sequence[AttachmentInfo]:
    """The attachments of a message as they are now; none if the message is gone or may not be read.

    Raises ``DiscordError`` where Discord does not answer properly.
    """
    token = get_config().discord.token
    if token is None:
        return ()
    return asyncio.run(_fetch(token.get_secret_value(), channel_id, message_id))


async def _fetch(token: str, channel_id: int, message_id: int) -> tuple[AttachmentInfo, ...]:
    async with Rest(token, get_config().discord.api_base) as rest:
        try:
            path = f"/channels/{channel_id}/messages/{message_id}"
            return attachments_of(await rest.get(path, bucket=f"message:{channel_id}"))
        except (Missing, Forbidden):
            return ()
