"""Numpy's products run in the thread that asks for them, in every process of the product."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COUNT = (
    "import os, django; django.setup(); import numpy as np; a = np.ones((600, 600)); a @ a; "
    "print(len(os.listdir('/proc/self/task')))"
)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads where Linux tells them")
@pytest.mark.parametrize(("given", "one_alone"), [(None, True), ("3", False)])
def test_products_wake_no_threads_unless_somebody_wants_them(given: str | None, one_alone: bool) -> None:
    names = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    if given is not None:
        environment["OPENBLAS_NUM_THREADS"] = given
    done = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert (int(done.stdout.split()[-1]) == 1) is one_alone
