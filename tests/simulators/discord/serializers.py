"""How the world looks in JSON: users, members, roles, channels, guilds, attachments, messages."""

from __future__ import annotations

import hashlib
import hmac
import urllib.parse

from .constants import I_MEMBERS, I_PRESENCES, THREADS
from .store import Msg, Obj
from .times import iso, snow_ts


class Serializers:
    """The part of the world that turns its objects into Discord payloads."""

    def user_d(self, uid):
        u = self.users.get(int(uid))
        if u is None:
            return {
                "id": str(uid),
                "username": "Deleted User",
                "discriminator": "0000",
                "global_name": None,
                "avatar": None,
            }
        d = {
            "id": str(u.id),
            "username": u.username,
            "discriminator": u.discriminator,
            "global_name": u.global_name,
            "avatar": u.avatar,
            "avatar_decoration_data": None,
            "public_flags": 0,
            "primary_guild": None,
            "clan": None,
        }
        if u.bot:
            d["bot"] = True
        return d

    def member_d(self, g, uid, user=True):
        m = g.members.get(uid) or Obj(roles=[], nick=None, joined=0)
        d = {
            "avatar": None,
            "banner": None,
            "communication_disabled_until": None,
            "deaf": False,
            "flags": 0,
            "joined_at": iso(m.joined),
            "mute": False,
            "nick": m.nick,
            "pending": False,
            "premium_since": None,
            "roles": [str(r) for r in m.roles],
        }
        if user:
            d["user"] = self.user_d(uid)
        return d

    def role_d(self, r):
        d = {
            "id": str(r.id),
            "name": r.name,
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "icon": None,
            "unicode_emoji": None,
            "position": r.position,
            "permissions": str(r.permissions),
            "managed": bool(r.managed),
            "mentionable": bool(r.mentionable),
            "flags": 0,
        }
        if r.bot_id:
            d["tags"] = {"bot_id": str(r.bot_id)}
        return d

    def channel_d(self, c, viewer: int | None = None, guild_id=True):
        if c.type == 1:
            return {
                "id": str(c.id),
                "type": 1,
                "flags": 0,
                "last_message_id": str(c.last) if c.last else None,
                "recipients": [self.user_d(u) for u in c.recipients if u != viewer],
            }
        d = {
            "id": str(c.id),
            "type": c.type,
            "name": c.name,
            "parent_id": str(c.parent_id) if c.parent_id else None,
            "flags": 0,
            "last_message_id": str(c.last) if c.last else None,
        }
        if guild_id:
            d["guild_id"] = str(c.guild_id)
        if c.type in THREADS:
            n = len(c.store.ids)
            d.update(
                owner_id=str(c.owner_id),
                rate_limit_per_user=0,
                message_count=min(n, 50),
                member_count=min(len(c.tmembers), 50),
                total_message_sent=c.total,
                applied_tags=[str(t) for t in c.applied_tags],
                thread_metadata={
                    "archived": c.archived,
                    "auto_archive_duration": c.auto_archive,
                    "locked": c.locked,
                    "archive_timestamp": iso(c.archive_ts),
                    "create_timestamp": iso(c.created),
                },
            )
            if c.type == 12:
                d["thread_metadata"]["invitable"] = True
            if viewer is not None and viewer in c.tmembers:
                d["member"] = {
                    "id": str(c.id),
                    "user_id": str(viewer),
                    "join_timestamp": iso(c.tmembers[viewer]),
                    "flags": 0,
                }
            return d
        d.update(
            position=c.position,
            nsfw=bool(c.nsfw),
            topic=c.topic,
            rate_limit_per_user=0,
            permission_overwrites=[
                {"id": str(o.id), "type": o.type, "allow": str(o.allow), "deny": str(o.deny)}
                for o in c.overwrites.values()
            ],
        )
        if c.type in (2, 13):
            d.update(bitrate=64000, user_limit=0, rtc_region=None)
        if c.type in (15, 16):
            d.update(
                available_tags=[],
                default_reaction_emoji=None,
                default_sort_order=None,
                default_forum_layout=0,
                default_thread_rate_limit_per_user=0,
            )
        return d

    def guild_base(self, g):
        return {
            "id": str(g.id),
            "name": g.name,
            "icon": None,
            "splash": None,
            "discovery_splash": None,
            "banner": None,
            "owner_id": str(g.owner_id),
            "afk_channel_id": None,
            "afk_timeout": 300,
            "verification_level": 0,
            "default_message_notifications": 1,
            "explicit_content_filter": 0,
            "roles": [self.role_d(r) for r in g.roles.values()],
            "emojis": [],
            "stickers": [],
            "features": [],
            "mfa_level": 0,
            "application_id": None,
            "system_channel_id": None,
            "system_channel_flags": 0,
            "rules_channel_id": None,
            "max_presences": None,
            "max_members": 500000,
            "vanity_url_code": None,
            "description": None,
            "premium_tier": 0,
            "premium_subscription_count": 0,
            "preferred_locale": "en-US",
            "public_updates_channel_id": None,
            "max_video_channel_users": 25,
            "nsfw_level": 0,
            "premium_progress_bar_enabled": False,
            "safety_alerts_channel_id": None,
            "nsfw": False,
            "region": "deprecated",
            "widget_enabled": False,
            "hub_type": None,
            "incidents_data": None,
            "max_stage_video_channel_users": 50,
            "latest_onboarding_question_id": None,
            "home_header": None,
            "inventory_settings": None,
        }

    def guild_full(self, g, b, intents, join=False):
        """GUILD_CREATE. As on Discord, *all* channels are listed, also those that the bot cannot view;
        members are complete only with both GUILD_MEMBERS and GUILD_PRESENCES in a guild that is not large.
        join: a guild that the bot has just been added to (then there is no "unavailable" key)."""
        d = self.guild_base(g)
        n = len(g.members)
        full = intents & I_MEMBERS and intents & I_PRESENCES and n <= self.cfg.large_threshold
        d.update(
            joined_at=iso(g.members[b.id].joined),
            large=n > self.cfg.large_threshold,
            unavailable=False,
            member_count=n,
            voice_states=[],
            presences=[],
            stage_instances=[],
            guild_scheduled_events=[],
            soundboard_sounds=[],
            members=[self.member_d(g, u) for u in (g.members if full else [b.id])],
            channels=[self.channel_d(c, b.id, guild_id=False) for c in g.channels.values()],
            threads=[
                self.channel_d(t, b.id)
                for t in g.threads.values()
                if not t.archived and self.can(b.id, t, "VIEW_CHANNEL")
            ],
        )
        if join:
            del d["unavailable"]
        return d

    def attach_d(self, a):
        u = self.cdn_url(a)
        d = {
            "id": str(a["id"]),
            "filename": a["filename"],
            "size": a["size"],
            "url": self.base + u,
            "proxy_url": self.base + "/proxy" + u,
        }
        for k in (
            "content_type",
            "width",
            "height",
            "description",
            "title",
            "ephemeral",
            "flags",
            "duration_secs",
        ):
            if a.get(k) is not None:
                d[k] = a[k]
        return d

    def cdn_url(self, a):
        path = f"/attachments/{a['channel_id']}/{a['id']}/{urllib.parse.quote(a['filename'])}"
        if not self.cfg.cdn_signed:
            return path
        ex = int(self.now() + self.cfg.cdn_ttl)
        return f"{path}?ex={ex:x}&is={int(self.now()):x}&hm={self.cdn_sig(a['id'], ex)}&"

    def cdn_sig(self, aid, ex):
        return hmac.new(b"sim-cdn", f"{aid}:{ex:x}".encode(), hashlib.sha256).hexdigest()

    def sees_content(self, m: Msg, c: Obj, b: Obj | None, has_intent: bool) -> bool:
        return (
            b is None
            or has_intent
            or m.author_id == b.id
            or c.type == 1
            or b.id in (m.get("mentions") or ())
            or m.get("interaction_app") == b.id
        )

    def msg_d(self, m: Msg, b: Obj | None = None, intent=True, gateway=False, ref=True):
        c = self.channels[m.channel_id]
        g = self.guilds.get(c.guild_id) if c.guild_id else None
        see = self.sees_content(m, c, b, intent)
        edited = m.get("edited")
        d = {
            "id": str(m.id),
            "type": m.get("type", 0),
            "channel_id": str(m.channel_id),
            "author": self.user_d(m.author_id),
            "content": m.content if see else "",
            "timestamp": iso(snow_ts(m.id)),
            "edited_timestamp": iso(edited) if edited else None,
            "tts": bool(m.get("tts")),
            "mention_everyone": bool(m.get("mention_everyone")),
            "mentions": [],
            "mention_roles": [str(r) for r in m.get("mention_roles", ())],
            "attachments": [self.attach_d(a) for a in m.get("attachments", ())] if see else [],
            "embeds": m.get("embeds", []) if see else [],
            "pinned": bool(m.get("pinned")),
            "flags": m.get("flags", 0),
            "components": m.get("components", []) if see else [],
        }
        for uid in m.get("mentions", ()):
            u = self.user_d(uid)
            if gateway and g and uid in g.members:
                u["member"] = self.member_d(g, uid, user=False)
            d["mentions"].append(u)
        rx = m.get("reactions")
        if rx:
            d["reactions"] = [
                {
                    "emoji": {"id": None, "name": e},
                    "count": len(us),
                    "me": b is not None and b.id in us,
                    "me_burst": False,
                    "burst_colors": [],
                    "burst_count": 0,
                    "count_details": {"burst": 0, "normal": len(us)},
                }
                for e, us in rx.items()
                if us
            ]
        if m.get("nonce") is not None and gateway:
            d["nonce"] = m.get("nonce")
        if m.get("webhook_id"):
            d["webhook_id"] = str(m.get("webhook_id"))
        if m.get("application_id"):
            d["application_id"] = str(m.get("application_id"))
        if m.get("interaction"):
            d["interaction"] = m.get("interaction")
            d["interaction_metadata"] = m.get("interaction_metadata")
        r = m.get("ref")
        if r:
            d["message_reference"] = {"type": 0, "message_id": str(r[1]), "channel_id": str(r[0])}
            if c.guild_id:
                d["message_reference"]["guild_id"] = str(c.guild_id)
            if ref and m.get("type") in (19, 20, 21):
                rc = self.channels.get(r[0])
                t = rc.store.by_id.get(r[1]) if rc else None
                d["referenced_message"] = self.msg_d(t, b, intent, False, False) if t else None
        if m.get("thread_id") and m.get("thread_id") in self.channels:
            d["thread"] = self.channel_d(self.channels[m.get("thread_id")], b.id if b else None)
        if gateway and g:
            d["guild_id"] = str(g.id)
            if m.author_id in g.members and not m.get("webhook_id"):
                d["member"] = self.member_d(g, m.author_id, user=False)
        if gateway:
            d["channel_type"] = c.type
        return d
