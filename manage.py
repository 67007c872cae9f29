#!/usr/bin/env python
"""Command line of Musebot: ``python manage.py help`` lists what there is."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "musebot_site.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit(
            "Django is not installed in this Python. Run `make install`, then use `.venv/bin/python manage.py …`."
        ) from error
    if os.environ.get("MUSEBOT_SUPERVISED"):
        from musebot_site.supervision import end_with_parent

        end_with_parent()
    from memory.errors import ConfigurationError

    try:
        execute_from_command_line(sys.argv)
    except ConfigurationError as error:
        raise SystemExit(f"The configuration cannot work: {error}") from None


if __name__ == "__main__":
    main()
