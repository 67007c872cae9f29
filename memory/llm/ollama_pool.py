"""Several Ollama hosts as one: the least busy that answers and has the model, the next one if it fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from memory.errors import (
    ModelError,
    ModelMissing,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    MusebotError,
)
from memory.llm.ollama_errors import HostBusy, translate
from memory.llm.ollama_hosts import FRESH_SECONDS, Clock, Host

T = TypeVar("T")

BUSY_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between rounds while every host says that it is busy."""
RECHECK_SECONDS = 2.0
"""How old a host's list of models may be where it says that no host has the model."""
QUEUE_SECONDS = 300.0
"""How long a request waits for its turn at a host."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A turn at a host; ``leave`` gives it back."""

    host: Host
    model: str

    def leave(self) -> None:
        self.host.gate(self.model).leave()


class HostPool:
    """The hosts of one installation, shared by chat, embedding and vision of a process. Safe for threads."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        queue_seconds: float = QUEUE_SECONDS,
    ) -> None:
        self.hosts = tuple(Host(url, clock=clock) for url in dict.fromkeys(hosts))
        self._sleep = sleep
        self._queue_seconds = queue_seconds

    def run(self, model: str, work: Callable[[Host], T], *, digest: str = "") -> tuple[Lease, T]:
        """Does the work at the best host, or the next ones where that fails. The caller gives the lease back.

        ``digest`` restricts it to hosts with that build of the model. A refusal (``ModelRejected``) is final: others would
        refuse as well.
        """
        failures: list[MusebotError] = []
        for pause in (*BUSY_PAUSES, None):
            tried: set[Host] = set()
            busy = False
            while (host := self._choose(model, digest, tried, explain=not failures)) is not None:
                tried.add(host)
                try:
                    return self._at(host, model, work)
                except ModelRejected:
                    raise
                except ModelError as error:
                    failures.append(error)
                    busy = busy or isinstance(error, HostBusy)
            if not busy or pause is None:
                break
            self._sleep(pause)
        raise _summary(failures)

    def _at(self, host: Host, model: str, work: Callable[[Host], T]) -> tuple[Lease, T]:
        gate = host.gate(model)
        gate.enter(self._queue_seconds)
        try:
            result = work(host)
        except BaseException as error:
            gate.leave()
            if not isinstance(error, Exception):
                raise
            translated = translate(error, host=host.label, model=model)
            self.note(host, translated)
            if translated is error:
                raise
            raise translated from None  # the original quotes what was said
        host.succeeded()
        return Lease(host, model), result

    @staticmethod
    def note(host: Host, error: MusebotError) -> None:
        """What a failed request tells of its host."""
        if isinstance(error, ModelMissing):
            host.forget_models()
        elif isinstance(error, ModelUnavailable) and not isinstance(error, HostBusy):
            host.failed(error)

    def _choose(self, model: str, digest: str, tried: set[Host], *, explain: bool) -> Host | None:
        """The least busy host that is fit and not tried yet. None if there is none, or the reason as an error."""

        def fit() -> list[Host]:
            return [host for host in self.hosts if host not in tried and self._has(host, model, digest)]

        # Which build a host has must be known for sure, so then all are asked first; a chat does not wait for a dead host.
        if not fit():
            self._refresh(older_than=RECHECK_SECONDS)  # a model may just have been pulled
        elif digest:
            self._refresh()
        else:
            for host in self.hosts:
                if host.due():
                    host.refresh_aside()
        candidates = fit()
        if candidates:
            return min(candidates, key=lambda host: host.load)
        if explain:
            raise self.why_not(model, digest)
        return None

    @staticmethod
    def _has(host: Host, model: str, digest: str) -> bool:
        found = host.digest(model)
        return found is not None and (not digest or found == digest)

    def _refresh(self, *, older_than: float = FRESH_SECONDS, force: bool = False) -> None:
        for host in self.hosts:
            host.refresh(older_than=older_than, force=force)

    def is_able(self, model: str, capability: str) -> bool:
        """Whether any host that is known to have a model says that it can do this. Old servers do not tell; then it counts as no."""
        if not any(self._has(host, model, "") for host in self.hosts):
            self._refresh(older_than=RECHECK_SECONDS)
        return any(
            self._has(host, model, "") and capability in (host.capabilities(model) or ())
            for host in self.hosts
        )

    def builds(self, model: str) -> tuple[list[str], bool]:
        """Digests of a model on the hosts that answer, the most frequent first; and whether all hosts answered."""
        self._refresh()
        found = Counter(digest for host in self.hosts if (digest := host.digest(model)) is not None)
        return [digest for digest, _ in found.most_common()], all(host.known for host in self.hosts)

    def why_not(self, model: str, digest: str = "") -> ModelError:
        """Why no host can take the work, in words that say what to do."""
        if not self.hosts:
            return ModelUnavailable("No Ollama host is known; set OLLAMA_HOSTS.")
        away = [host for host in self.hosts if not host.known]
        if digest and any(host.digest(model) is not None for host in self.hosts):
            return ModelUnavailable(
                f"No host that answers has the build {digest[:12]} of {model}; vectors of another build cannot be mixed in. "
                + (f"Not answering: {_names(away)}." if away else "The next attempt moves to the new build."),
            )
        if len(away) == len(self.hosts):
            if len(away) == 1 and away[0].error and isinstance(away[0].error, ModelError):
                return away[0].error
            slow = all(isinstance(host.error, ModelTimeout) for host in away)
            return (ModelTimeout if slow else ModelUnavailable)(f"No Ollama host answers ({_names(away)}).")
        if away:
            return ModelUnavailable(
                f"No host that answers has the model {model}, and these do not answer: {_names(away)}."
            )
        return ModelMissing(f"No Ollama host has the model {model}. Run: ollama pull {model}", model=model)

    def check(self, model: str) -> dict[str, Any]:
        """The state of all hosts as to one model, freshly asked."""
        self._refresh(force=True)
        hosts = [host.report(model) for host in self.hosts]
        ok = any(entry["ok"] and entry["has_model"] for entry in hosts)
        return {
            "ok": ok,
            "model": model,
            "hosts": hosts,
            "message": "" if ok else self.why_not(model).message,
        }


def _names(hosts: Sequence[Host]) -> str:
    return ", ".join(host.label for host in hosts)


def _summary(failures: list[MusebotError]) -> MusebotError:
    """One error for several hosts' failures: one that may pass, if any may."""
    unlike = {(type(error), error.message): error for error in failures}
    first = next((error for error in failures if error.retryable), failures[-1])
    if len(unlike) == 1:
        return first
    kind = ModelUnavailable if isinstance(first, HostBusy) else type(first)
    return kind(" ".join(error.message for error in unlike.values()))
