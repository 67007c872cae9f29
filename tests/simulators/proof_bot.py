"""A small discord.py 2.7 bot for test_discord_proof.py: `python -m tests.simulators.proof_bot`.

Configured by environment variables only; writes what it sees to $BOT_LOG as JSON lines."""

import asyncio
import json
import logging
import os

import discord
from discord import app_commands

from tests.simulators.discord.overrides import apply_overrides

apply_overrides()  # DISCORD_API_BASE, DISCORD_GATEWAY_URL, DISCORD_CDN_BASE
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
LOG = open(os.environ["BOT_LOG"], "a", buffering=1)  # noqa: SIM115 (open as long as the process runs)


def log(ev, **kw):
    LOG.write(json.dumps(dict(ev=ev, **kw)) + "\n")


class Bot(discord.Client):
    def __init__(self):
        i = discord.Intents.default()
        i.message_content = True
        i.members = True
        super().__init__(intents=i, max_messages=100, guild_ready_timeout=0.2)
        self.tree = app_commands.CommandTree(self)
        memory = app_commands.Group(name="memory", description="Long-term memory")

        @memory.command(name="remember", description="Opt in and backfill")
        async def remember(it: discord.Interaction):
            await it.response.defer(ephemeral=True, thinking=True)
            mine = total = 0
            order_ok = True
            per = {}
            for ch in it.guild.text_channels:
                if not ch.permissions_for(it.guild.me).read_message_history:
                    per[ch.name] = "skipped"
                    continue
                last = n = 0
                async for m in ch.history(limit=None, oldest_first=True):
                    order_ok &= m.id > last
                    last = m.id
                    n += 1
                    mine += m.author.id == it.user.id
                per[ch.name] = n
                total += n
                await it.edit_original_response(content=f"... {total} read")
            log("backfill", mine=mine, total=total, per=per, order_ok=order_ok)
            await it.followup.send(f"Stored {mine} of {total} messages.", ephemeral=True)

        @memory.command(name="forget", description="Opt out and delete")
        async def forget(it: discord.Interaction):
            await it.response.send_message("All memories deleted.", ephemeral=True)

        self.tree.add_command(memory)

        @self.tree.command(name="slow", description="acknowledges too late")
        async def slow(it: discord.Interaction, seconds: int):
            await asyncio.sleep(seconds)
            try:
                await it.response.send_message("too late?")
                log("slow", ok=True)
            except discord.NotFound as e:
                log("slow", ok=False, code=e.code, status=e.status)

        @self.tree.command(name="job", description="defers, then edits after a while")
        async def job(it: discord.Interaction):
            await it.response.defer()
            await asyncio.sleep(0.6)
            try:
                await it.edit_original_response(content="done")
                log("job", ok=True)
            except discord.HTTPException as e:
                log("job", ok=False, code=e.code, status=e.status)
                await it.channel.send("the result, as an ordinary message")

    async def setup_hook(self):
        cmds = await self.tree.sync()
        log("synced", names=[c.name for c in cmds])

    async def on_ready(self):
        gs = self.guilds
        log(
            "ready",
            guilds=[g.name for g in gs],
            members=[len(g.members) for g in gs],
            chunked=[g.chunked for g in gs],
        )

    async def on_resumed(self):
        log("resumed")

    async def on_disconnect(self):
        log("disconnect")

    async def on_message(self, m):
        log(
            "message",
            id=m.id,
            content=m.content,
            author=m.author.id,
            ch=getattr(m.channel, "name", "dm"),
            type=m.type.name,
            ref=m.reference.message_id if m.reference else None,
            nfiles=len(m.attachments),
        )
        if m.author.bot:
            return
        if m.attachments:
            data = await m.attachments[0].read()
            log("attachment", bytes=len(data), ct=m.attachments[0].content_type, url=m.attachments[0].url)
        if self.user not in m.mentions and m.guild:
            return
        text = m.content.replace(self.user.mention, "").strip()
        if text.startswith("stream"):
            async with m.channel.typing():
                words = [f"w{k}" for k in range(int(text.split()[1]))]
                r = await m.reply("...")
                for k in range(5, len(words) + 5, 5):
                    r = await r.edit(content=" ".join(words[:k]))
        elif text.startswith("long"):
            try:
                await m.reply("x" * 2001)
            except discord.HTTPException as e:
                log("too_long", status=e.status, code=e.code, text=e.text)
                await m.reply("too long")
        else:
            await m.reply(f"echo: {text}")

    async def on_raw_message_delete(self, p):
        log("raw_delete", id=p.message_id, cached=p.cached_message is not None)

    async def on_raw_bulk_message_delete(self, p):
        log("raw_bulk", ids=sorted(p.message_ids))

    async def on_raw_message_edit(self, p):
        log("raw_edit", id=p.message_id, content=p.data.get("content"), cached=p.cached_message is not None)

    async def on_raw_member_remove(self, p):
        log("member_remove", user=p.user.id)

    async def on_guild_remove(self, g):
        log("guild_remove", id=g.id)

    async def on_guild_unavailable(self, g):
        log("guild_unavailable", id=g.id)

    async def on_guild_join(self, g):
        log("guild_join", id=g.id)

    async def on_guild_available(self, g):
        log("guild_available", id=g.id)


if __name__ == "__main__":
    Bot().run(os.environ["DISCORD_TOKEN"], log_handler=None)
