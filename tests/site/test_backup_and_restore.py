"""A copy is made while others write; bringing it back brings nobody back who was erased since."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.memory.test_import_files import GUILD, line, lines_file

pytestmark = pytest.mark.sqlite_only("a PostgreSQL is backed up with pg_dump")

ROOT = Path(__file__).resolve().parents[2]


class Installation:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PROMETHEUS_MULTIPROC_DIR"},
            "MUSEBOT_HOME": str(home),
            "MUSEBOT_CONFIG": "",
            "MUSEBOT_EMBEDDING_MODEL": "hash",
            "DJANGO_SETTINGS_MODULE": "musebot_site.settings",
        }

    def run(self, *arguments: str, status: int = 0) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def python(self, code: str) -> str:
        command = [sys.executable, "-c", f"import django; django.setup()\n{code}"]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def texts(self) -> set[str]:
        rows = "from memory.models import Message\nprint(*Message.objects.values_list('text', flat=True), sep='\\n')"
        return set(self.python(rows).splitlines())

    @property
    def folder(self) -> Path:
        return next(self.home.glob("workflows/*/txt2txt"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: preparing a new database takes longer than all that is tested here."""
    folder = tmp_path_factory.mktemp("template")
    chat = lines_file(
        folder / "chat.jsonl",
        line(id="1", user_id="11", text="My sister plays the cello"),
        line(id="2", user_id="22", text="My brother plays the accordion"),
    )
    made = Installation(folder / "home")
    made.run("import_chat", str(chat), "--guild", str(GUILD), "--consent-all")
    return made.home


@pytest.fixture
def installation(template: Path, tmp_path: Path) -> Installation:
    shutil.copytree(template, tmp_path / "home")
    return Installation(tmp_path / "home")


ERASE = (
    "from memory import erasure\n"
    "from memory.models import ErasureRequest\n"
    "erasure.run(erasure.request(user_id=11, origin=ErasureRequest.Origin.COMMAND).id)"
)


def test_what_was_erased_since_does_not_come_back(installation: Installation, tmp_path: Path):
    printed = installation.run("backup", str(tmp_path))
    (backup,) = tmp_path.glob("musebot-*.tar")
    assert str(backup) in printed and oct(backup.stat().st_mode & 0o777) == "0o600"
    installation.python(ERASE)
    assert installation.texts() == {"My brother plays the accordion"}

    assert "--replace" in installation.run("restore", str(backup), status=1)
    printed = installation.run("restore", str(backup), "--replace")
    assert "1" in printed.splitlines()[-2] and "Restored" in printed.splitlines()[-1]
    assert installation.texts() == {"My brother plays the accordion"}
    installation.run("verify_erasure", "11")
    assert b"cello" not in b"".join(path.read_bytes() for path in installation.folder.glob("memory.db*"))


def test_it_comes_back_on_another_machine(installation: Installation, tmp_path: Path):
    backup = tmp_path / "copy.tar"
    installation.run("backup", str(backup))
    other = Installation(tmp_path / "other")
    other.run("restore", str(backup))
    assert (
        other.texts()
        == installation.texts()
        == {"My sister plays the cello", "My brother plays the accordion"}
    )
    key = "secrets/privacy_key"
    assert (other.home / key).read_bytes() == (installation.home / key).read_bytes()


def test_somebody_else_writes_meanwhile(installation: Installation, tmp_path: Path):
    """A connection that is about to commit keeps nobody from copying, and what it writes is not lost."""
    open_elsewhere = (
        "import sys\nfrom django.db import transaction\nfrom memory.models import InstallationState\n"
        "with transaction.atomic():\n"
        "    InstallationState.objects.create(name='mark')\n    print('in', flush=True)\n    sys.stdin.readline()\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", f"import django; django.setup()\n{open_elsewhere}"],
        cwd=ROOT,
        env=installation.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdin and writer.stdout and writer.stdout.readline() == b"in\n"
    backup = tmp_path / "copy.tar"
    installation.run("backup", str(backup))
    writer.communicate(b"\n", timeout=30)
    assert writer.returncode == 0
    count = "from memory.models import InstallationState\nprint(InstallationState.objects.filter(name='mark').count())"
    assert installation.python(count).strip() == "1"
    other = Installation(tmp_path / "other")
    other.run("restore", str(backup))
    assert other.python(count).strip() == "0"


def test_a_damaged_file_changes_nothing(installation: Installation, tmp_path: Path):
    backup = tmp_path / "copy.tar"
    installation.run("backup", str(backup))
    before = installation.texts()
    with tarfile.open(backup) as archive:
        position = archive.getmember("memory.db").offset_data
    with backup.open("r+b") as file:
        file.seek(position + 40_000)
        file.write(b"damaged")
    assert "damaged" in installation.run("restore", str(backup), "--replace", status=1)
    backup.write_bytes(backup.read_bytes()[:5000])
    assert "damaged" in installation.run("restore", str(backup), "--replace", status=1)
    assert "no file" in installation.run("restore", str(tmp_path / "none.tar"), "--replace", status=1)
    assert installation.texts() == before


def test_a_backup_of_another_installation_is_refused(installation: Installation, tmp_path: Path):
    """Its receipts speak of people under another key: no erasure could be replayed."""
    shutil.copytree(installation.home, tmp_path / "other")
    other = Installation(tmp_path / "other")
    key = other.home / "secrets" / "privacy_key"
    key.chmod(0o600)
    key.write_bytes(key.read_bytes()[::-1])
    other.run("backup", str(tmp_path / "other.tar"))
    assert "another installation" in installation.run(
        "restore", str(tmp_path / "other.tar"), "--replace", status=1
    )
    assert len(installation.texts()) == 2


def test_not_while_it_runs(installation: Installation, tmp_path: Path):
    backup = tmp_path / "copy.tar"
    installation.run("backup", str(backup))
    installation.python(
        "from memory.models import InstallationState\nInstallationState.objects.create(name='worker')"
    )
    assert "running (worker)" in installation.run("restore", str(backup), "--replace", status=1)


def test_an_existing_file_is_not_overwritten(installation: Installation, tmp_path: Path):
    kept = tmp_path / "kept.tar"
    kept.write_text("mine")
    assert "exists already" in installation.run("backup", str(kept), status=1)
    assert "no folder" in installation.run("backup", str(tmp_path / "none" / "x.tar"), status=1)
    assert kept.read_text() == "mine" and not list(tmp_path.glob(".*part"))
