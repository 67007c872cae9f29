"""What is remembered: consent, capture, recall, facts, documents, erasure. It knows neither Discord nor HTTP."""

import os

# Threads of numpy wait for each other by spinning. The products here are small, and several processes share few cores: with one
# thread a question is embedded in an eighth of the processor time. Whoever sets these before keeps what they set.
for _name in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
