"""Commands, settings and tasks that exist are documented, and what the README names exists."""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text()


def commands() -> set[str]:
    found = {
        path.stem
        for folder in ("memory", "botrunner", "musebot_site")
        for path in (PROJECT / folder / "management" / "commands").glob("[a-z]*.py")
    }
    return found


def test_every_command_is_in_the_readme():
    missing = {name for name in commands() if f"manage.py {name}" not in README}
    assert not missing


def test_every_command_of_the_readme_exists():
    named = set(re.findall(r"manage\.py (\w+)", README))
    assert named - commands() <= {
        "migrate",
        "help",
        "check",
        "createsuperuser",
        "makemigrations",
        "changepassword",
    }


def test_every_environment_variable_is_in_the_readme():
    sources = [PROJECT / "musebot_site" / "config.py", PROJECT / "musebot_site" / "settings.py"]
    pattern = re.compile(r'"((?:MUSEBOT|DJANGO|DISCORD|OLLAMA|OPENAI|LLM|CELERY|DATABASE)_[A-Z_]+)"')
    read = {name for path in sources for name in pattern.findall(path.read_text())}
    missing = {name for name in read if name not in README} - {"DJANGO_SETTINGS_MODULE"}
    assert not missing


def test_every_target_of_the_makefile_that_people_use_is_in_the_readme():
    for target in ("make run", "make test", "make demo", "make check", "make install"):
        assert target in README


def test_the_pictures_of_the_readme_are_there():
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (PROJECT / path).is_file(), path


def test_the_example_configuration_is_understood(tmp_path):
    from musebot_site.config import load_config

    example = PROJECT / "config.example.jsonc"
    config = load_config({"MUSEBOT_CONFIG": str(example), "MUSEBOT_HOME": str(tmp_path)})
    assert config.bot_id == "musebot"
