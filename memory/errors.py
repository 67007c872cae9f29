"""One tree of errors for everything that ``memory`` can refuse or fail at.

``code`` is stable and public (the API returns it); ``retryable`` says whether the same call may succeed later;
``status`` is the fitting HTTP status for callers that speak HTTP.
"""

from __future__ import annotations

from typing import Any


class MusebotError(Exception):
    """Base of all errors. ``message`` says what to do about it; ``details`` is JSON-ready and holds no content."""

    code = "error"
    status = 500
    retryable = False

    def __init__(self, message: str = "", **details: Any) -> None:
        super().__init__(message or self.__doc__ or self.code)
        self.details = details

    @property
    def message(self) -> str:
        return str(self.args[0])


class ConfigurationError(MusebotError):
    """The configuration cannot work."""

    code = "configuration"


class InvalidInput(MusebotError):
    """The input is not of the form that is asked for."""

    code = "invalid_input"
    status = 422


class NotFound(MusebotError):
    """There is no such thing."""

    code = "not_found"
    status = 404


class Forbidden(MusebotError):
    """This caller may not do that."""

    code = "forbidden"
    status = 403


class Conflict(MusebotError):
    """Somebody else changed it in the meantime."""

    code = "conflict"
    status = 409


class ConsentMissing(MusebotError):
    """The member has not opted in, so nothing of theirs is stored."""

    code = "consent_missing"
    status = 409


class StaleEpoch(MusebotError):
    """The member's data was erased after this work began; its result is dropped."""

    code = "stale_epoch"
    status = 409


class MemoryDisabled(MusebotError):
    """Long-term memory is off: no embedding model is configured."""

    code = "memory_disabled"
    status = 409


class ModelError(MusebotError):
    """A model failed."""

    code = "model_error"
    status = 502


class ModelUnavailable(ModelError):
    """No host of the model answers."""

    code = "model_unavailable"
    status = 503
    retryable = True


class ModelTimeout(ModelUnavailable):
    """The model did not answer in time."""

    code = "model_timeout"
    status = 504


class ModelMissing(ModelError):
    """The host does not have this model."""

    code = "model_missing"


class ModelRejected(ModelError):
    """The model refused the request; the same request will be refused again."""

    code = "model_rejected"


class ContextTooLong(ModelRejected):
    """The prompt does not fit into the model's context window."""

    code = "context_too_long"


class ModelReplyInvalid(ModelError):
    """The model's answer broke off or is not of the form that was asked for."""

    code = "model_reply_invalid"
    retryable = True
