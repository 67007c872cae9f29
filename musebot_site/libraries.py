"""Files of libraries, without loading the library."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def package_folder(name: str) -> Path:
    """The folder of an installed package. Raises ``ModuleNotFoundError`` where it is not installed."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"The package {name} is not installed. Run `make install`.", name=name)
    return Path(spec.submodule_search_locations[0])
