"""Permissions, intents, channel types and rate limit profiles."""

from __future__ import annotations

SIM_VERSION = 1

P = {
    "CREATE_INVITE": 1 << 0,
    "KICK": 1 << 1,
    "BAN": 1 << 2,
    "ADMINISTRATOR": 1 << 3,
    "MANAGE_CHANNELS": 1 << 4,
    "MANAGE_GUILD": 1 << 5,
    "ADD_REACTIONS": 1 << 6,
    "VIEW_CHANNEL": 1 << 10,
    "SEND_MESSAGES": 1 << 11,
    "MANAGE_MESSAGES": 1 << 13,
    "EMBED_LINKS": 1 << 14,
    "ATTACH_FILES": 1 << 15,
    "READ_MESSAGE_HISTORY": 1 << 16,
    "MENTION_EVERYONE": 1 << 17,
    "CONNECT": 1 << 20,
    "SPEAK": 1 << 21,
    "CHANGE_NICKNAME": 1 << 26,
    "MANAGE_ROLES": 1 << 28,
    "MANAGE_WEBHOOKS": 1 << 29,
    "USE_APPLICATION_COMMANDS": 1 << 31,
    "MANAGE_THREADS": 1 << 34,
    "CREATE_PUBLIC_THREADS": 1 << 35,
    "CREATE_PRIVATE_THREADS": 1 << 36,
    "SEND_MESSAGES_IN_THREADS": 1 << 38,
}
ALL_PERMS = (1 << 53) - 1
EVERYONE_DEFAULT = (
    P["CREATE_INVITE"]
    | P["ADD_REACTIONS"]
    | P["VIEW_CHANNEL"]
    | P["SEND_MESSAGES"]
    | P["EMBED_LINKS"]
    | P["ATTACH_FILES"]
    | P["READ_MESSAGE_HISTORY"]
    | P["CONNECT"]
    | P["SPEAK"]
    | P["CHANGE_NICKNAME"]
    | P["USE_APPLICATION_COMMANDS"]
    | P["CREATE_PUBLIC_THREADS"]
    | P["SEND_MESSAGES_IN_THREADS"]
)
BOT_DEFAULT = EVERYONE_DEFAULT


def perm_value(v) -> int:
    """int, "123", or ["VIEW_CHANNEL", ...]"""
    if v is None:
        return 0
    if isinstance(v, (list, tuple)):
        out = 0
        for x in v:
            out |= P[x.upper()]
        return out
    if isinstance(v, str) and not v.lstrip("-").isdigit():
        return P[v.upper()]
    return int(v)


I_GUILDS, I_MEMBERS, I_MODERATION, I_PRESENCES = 1, 1 << 1, 1 << 2, 1 << 8
I_GUILD_MESSAGES, I_GUILD_REACTIONS, I_GUILD_TYPING = 1 << 9, 1 << 10, 1 << 11
I_DM_MESSAGES, I_DM_REACTIONS, I_DM_TYPING, I_CONTENT = 1 << 12, 1 << 13, 1 << 14, 1 << 15
PRIVILEGED = {"members": I_MEMBERS, "presences": I_PRESENCES, "message_content": I_CONTENT}
VALID_INTENTS = 0x1FFFF | (1 << 20) | (1 << 21) | (1 << 24) | (1 << 25)

TEXTLIKE = {0, 1, 2, 3, 5, 10, 11, 12, 13}
THREADS = {10, 11, 12}
CTYPES = {
    "text": 0,
    "dm": 1,
    "voice": 2,
    "group": 3,
    "category": 4,
    "news": 5,
    "news_thread": 10,
    "public_thread": 11,
    "private_thread": 12,
    "stage": 13,
    "forum": 15,
    "media": 16,
}

# Rate limit rules: (method, route template, limit, window in seconds, {"hidden": n}).
# Discord does not document most of these; the numbers are those commonly seen in X-RateLimit headers.
RATES = {
    "realistic": [
        ("POST", "/channels/{channel_id}/messages", 5, 5.0),
        ("PATCH", "/channels/{channel_id}/messages/{message_id}", 5, 5.0),
        ("DELETE", "/channels/{channel_id}/messages/{message_id}", 5, 1.0),
        ("GET", "/channels/{channel_id}/messages", 5, 1.0),
        ("GET", "/channels/{channel_id}/messages/{message_id}", 5, 1.0),
        ("POST", "/channels/{channel_id}/typing", 5, 5.0),
        ("POST", "/channels/{channel_id}/messages/bulk-delete", 1, 1.0),
        ("PUT", "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me", 1, 0.25),
        ("POST", "/webhooks/{webhook_id}/{webhook_token}", 5, 2.0),
        ("PATCH", "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}", 5, 2.0),
        ("GET", "/guilds/{guild_id}/members", 10, 10.0),
        ("POST", "/users/@me/channels", 10, 10.0),
        ("*", "*", 50, 1.0),
    ],
    "fast": [("*", "*", 1000, 1.0)],
    "off": [],
}
