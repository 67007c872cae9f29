"""``compose.yaml`` starts commands that there are, with options that they take, and hands on what the configuration reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from memory import conf
from musebot_site import queues

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}


@pytest.mark.parametrize("name", OURS)
def test_each_service_runs_a_command_with_options_that_it_takes(name: str) -> None:
    python, manage, command, *options = OURS[name]["command"]
    assert (python, manage) == ("python", "manage.py")
    parser = load_command_class(get_commands()[command], command).create_parser(manage, command)
    parser.parse_args(options)


def test_queues_of_the_workers_are_all_there_are_and_no_other() -> None:
    named = [
        queue
        for service in OURS.values()
        for option, value in zip(service["command"], service["command"][1:], strict=False)
        if option == "--queues"
        for queue in value.split(",")
    ]
    assert sorted(named) == sorted((queues.SOON, queues.USUAL, queues.LATER))


def test_every_service_that_is_waited_for_is_there() -> None:
    for name, service in COMPOSE["services"].items():
        for other, condition in service.get("depends_on", {}).items():
            waited = COMPOSE["services"][other]
            if condition["condition"] == "service_healthy":
                assert "healthcheck" in waited, (name, other)


def test_what_is_set_in_the_environment_is_read_by_somebody() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    read = Path(conf.__file__).read_text(encoding="utf-8") + "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "musebot_site").rglob("*.py")
    )
    given = {variable for service in OURS.values() for variable in service["environment"]}
    given |= set(re.findall(r"^(?:ENV|   ) +(MUSEBOT_\w+|PROMETHEUS_\w+)=", dockerfile, re.MULTILINE))
    assert "MUSEBOT_HOME" in given
    assert not {variable for variable in given if variable not in read}


def test_the_image_takes_in_nothing_of_an_installation() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".env", "config.jsonc", "var", "secrets", ".venv", ".git"} <= set(ignored)
