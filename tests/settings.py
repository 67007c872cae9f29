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

from musebot_site.settings import *  # noqa: E402, F403
from musebot_site.settings import DATABASES, MUSEBOT  # noqa: E402

# A file, not memory: several connections and processes read it, and erasure is checked down to its bytes.
DATABASES["default"]["TEST"] = {"NAME": str(MUSEBOT.database_path.with_name("test.db"))}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
