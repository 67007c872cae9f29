"""The pictures of the README, made from the sample community: ``make screenshots`` (or ``python -m tests.screenshots``).

Everything happens in a folder that is thrown away afterwards; only ``docs/screenshots`` is written.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TARGET = PROJECT / "docs" / "screenshots"
LARGEST = 200_000
PASSWORD = "for-the-pictures-only"
DESK, PHONE = {"width": 1280, "height": 760}, {"width": 390, "height": 844}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="musebot-pictures-") as home:
        os.environ.update(
            MUSEBOT_HOME=home,
            MUSEBOT_CONFIG="",
            MUSEBOT_LOG_LEVEL="ERROR",
            DJANGO_SETTINGS_MODULE="musebot_site.settings",
            DJANGO_ALLOW_ASYNC_UNSAFE="true",
        )
        for name in (
            "DISCORD_TOKEN",
            "OLLAMA_HOSTS",
            "MUSEBOT_CHAT_MODEL",
            "MUSEBOT_EMBEDDING_MODEL",
            "DATABASE_URL",
        ):
            os.environ.pop(name, None)
        import django

        django.setup()
        paths = prepare()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(port)],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/readyz")
            take(f"http://127.0.0.1:{port}", paths)
        finally:
            server.terminate()
            server.wait(20)


def prepare() -> dict[str, str]:
    """The sample community, a few questions to it, and one member who was forgotten. Returns addresses by picture."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from memory import chat, demo, erasure
    from memory.models import InstallationState, Member, Message, Reply
    from memory.types import GuildInfo, Person, TurnRequest

    call_command("migrate", verbosity=0)
    User.objects.create_superuser("ada", password=PASSWORD)
    demo.load()
    for question in demo.questions():
        asker = Member.objects.get(user_id=question.asker_id)
        person = Person(asker.user_id, asker.username, asker.display_name)
        chat.answer(
            TurnRequest(question=question.text, asker=person, guild=GuildInfo(demo.GUILD_ID), operator=True)
        )
    forgotten = Member.objects.get(username="odalys")
    request = erasure.request(user_id=forgotten.user_id, origin="admin")
    erasure.run(request.id)
    InstallationState.objects.update_or_create(name="worker", defaults={"value": {}})
    used = Message.objects.filter(times_used__gt=0).order_by("-times_used", "key")[0]
    return {
        "overview": "/",
        "memories": f"/memories/?guild={demo.GUILD_ID}",
        "search": "/memories/?q=who+cannot+eat+seafood&mode=semantic",
        "memory": f"/memories/{used.key}/?guild={demo.GUILD_ID}",
        "member": f"/members/{Member.objects.get(username='juniper').user_id}/",
        "erase": f"/members/{Member.objects.get(username='mabel').user_id}/erase/",
        "erasure": f"/erasures/{request.id}/",
        "reply": f"/replies/{Reply.objects.order_by('-created_at')[0].id}/",
    }


def wait_for(address: str) -> None:
    for _ in range(200):
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The dashboard did not start.")


def take(base: str, paths: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import ARGUMENTS, find_chromium

    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=[*ARGUMENTS, "--disable-lcd-text"]
        )
        context = browser.new_context(base_url=base, viewport=DESK)
        page = context.new_page()
        page.goto("/sign-in/")
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{base}/")
        signed_in = context.storage_state()
        for name, path in paths.items():
            page.goto(path, wait_until="networkidle")
            save(page, name)
        ask(page)
        save(page, "playground")
        for name, path, size in (
            ("memories-dark", paths["memories"], DESK),
            ("phone", paths["memories"], PHONE),
        ):
            other = browser.new_context(
                base_url=base,
                viewport=size,
                storage_state=signed_in,
                color_scheme="dark" if name.endswith("dark") else "light",
            )
            page = other.new_page()
            page.goto(path, wait_until="networkidle")
            save(page, name)
        browser.close()


def ask(page: object) -> None:
    from playwright.sync_api import Page, expect

    assert isinstance(page, Page)
    page.set_viewport_size({"width": 1200, "height": 680})  # a page full of text makes a large picture
    page.goto("/playground/", wait_until="networkidle")
    page.locator("[data-suggestion]").first.click()
    expect(page.locator("[data-trace] .recalled").first).to_be_visible()


def save(page: object, name: str) -> None:
    from playwright.sync_api import Page

    assert isinstance(page, Page)
    path = TARGET / f"{name}.png"
    page.mouse.move(0, 0)
    page.screenshot(path=path)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path.name} has {size:,} bytes; {LARGEST:,} are allowed.")
    print(f"{path.relative_to(PROJECT)}  {size:,} bytes")


if __name__ == "__main__":
    main()
