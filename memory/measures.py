"""What Prometheus is told of the work: how long it takes and how often it fails. Nothing in it is of a person, a server or a text.

Each process counts in a file of its own in the folder that ``PROMETHEUS_MULTIPROC_DIR`` names (the settings set it, before this
module is read); the dashboard adds them up when it is asked. See ``musebot_site.metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import Counter, Histogram

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

turn_seconds = Histogram(
    "musebot_turn_seconds", "Time of a reply by stage; total is all of it.", ["stage"], buckets=SECONDS
)
recall_seconds = Histogram(
    "musebot_recall_seconds", "Time from a question to the memories that may answer it.", buckets=SECONDS
)
replies = Counter("musebot_replies_given", "Replies by kind: model, extractive, error.", ["kind"])
degraded = Counter(
    "musebot_recall_degraded", "Recalls that had to do without something, by what was missing.", ["reason"]
)
model_errors = Counter("musebot_model_errors", "Replies that a model failed, by error.", ["error"])
captured = Counter("musebot_captured_messages", "Messages stored, by where they came from.", ["source"])
rate_limits = Counter("musebot_discord_rate_limits", "Answers of Discord that asked to wait (status 429).")
work_seconds = Histogram(
    "musebot_work_seconds", "Time of one batch of background work, by kind.", ["kind"], buckets=SECONDS
)
work_failures = Counter(
    "musebot_work_failures",
    "Background work that failed and is tried again or given up, by kind and error; embed is the embedding model's.",
    ["kind", "error"],
)


def turn(*, kind: str, timings: Mapping[str, float], error: str, missing: str) -> None:
    """Counts a reply. ``timings`` in milliseconds by stage; ``missing``: what recall had to do without, joined by commas."""
    replies.labels(kind or "none").inc()
    for stage, milliseconds in timings.items():
        # Parts of a stage stand in the trace; here they would be series that nobody adds up.
        if not stage.startswith(("recall_", "retrieve_")):
            turn_seconds.labels(stage).observe(milliseconds / 1000)
    if error:
        model_errors.labels(error).inc()
    for reason in filter(None, missing.split(",")):
        degraded.labels(reason).inc()
