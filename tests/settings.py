"""Settings of the test suite: a folder of its own, the hashing embedder, tasks that run where they are called."""

import atexit
import os
import shutil
import tempfile

# Processes of pytest-xdist inherit the environment of the first one; each needs a folder of its own all the same.
if "MUSEBOT_HOME" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["MUSEBOT_HOME"] = tempfile.mkdtemp(prefix="musebot-tests-")
    atexit.register(shutil.rmtree, os.environ["MUSEBOT_HOME"], ignore_errors=True)
os.environ["MUSEBOT_CONFIG"] = ""
os.environ.setdefault("MUSEBOT_EMBEDDING_MODEL", "hash")
for name in (
    "DISCORD_TOKEN",
    "DISCORD_API_BASE",
    "OLLAMA_HOSTS",
    "MUSEBOT_CHAT_MODEL",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
):
    os.environ.pop(name, None)
# The suite runs on SQLite and the embedded broker. These two have it run on PostgreSQL (which pgvector must be part of) and Redis:
# the URL of a database in which others can be made and dropped, and that of a Redis which nobody else uses.
# ``python -m tests.servers pytest …`` starts both and sets them.
if os.environ.get("MUSEBOT_TEST_DATABASE_URL"):
    os.environ["DATABASE_URL"] = os.environ["MUSEBOT_TEST_DATABASE_URL"]

from musebot_site.settings import *  # noqa: E402, F403
from musebot_site.settings import DATABASES, MUSEBOT  # noqa: E402

# Commands that a test starts in a folder of their own have a database there.
os.environ.pop("DATABASE_URL", None)

# A file, not memory: several connections and processes read it, and erasure is checked down to its bytes.
DATABASES["default"]["TEST"] = (
    {"NAME": f"test_musebot_{os.getpid()}"}
    if MUSEBOT.database_url
    else {"NAME": str(MUSEBOT.database_path.with_name("test.db"))}
)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
