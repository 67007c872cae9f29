"""Requests to a server that speaks OpenAI's API, and its failures as ``memory.errors``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from memory.errors import ModelReplyInvalid, ModelTimeout, ModelUnavailable, MusebotError
from memory.llm.ollama_errors import HostBusy, from_reply

T = TypeVar("T")

BUSY_PAUSES = (0.5, 1.0, 2.0)
MAX_PAUSE = 10.0
CONNECT_SECONDS = 5.0


class OpenAIServer:
    """One base URL with its key. Safe for threads."""

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        *,
        read_timeout: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(base_url)
        self.label = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
        self.is_openai = (parts.hostname or "").endswith("openai.com")
        self._sleep = sleep
        self._client = httpx.Client(
            base_url=base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(
                connect=CONNECT_SECONDS, read=read_timeout, write=30.0, pool=CONNECT_SECONDS
            ),
            # A proxy from the environment may be the only way out, but is never the way to a server on one's own network.
            trust_env=parts.scheme == "https",
            follow_redirects=False,
        )

    def json(self, path: str, body: Mapping[str, Any], *, model: str) -> Any:
        """The answer to one request; tried again while the server says that it is busy."""

        def once() -> Any:
            with self.translated(model):
                response = self._client.post(path, json=dict(body))
                self._raise_for(response, model)
                return response.json()

        return self._patiently(once)

    def models(self, model: str) -> list[str]:
        with self.translated(model):
            response = self._client.get("models", timeout=CONNECT_SECONDS)
            self._raise_for(response, model)
            return [str(entry["id"]) for entry in response.json()["data"]]

    def open(self, path: str, body: Mapping[str, Any], *, model: str) -> httpx.Response:
        """A response whose body is still to be read; the caller closes it."""

        def once() -> httpx.Response:
            with self.translated(model):
                response = self._client.send(
                    self._client.build_request("POST", path, json=dict(body)), stream=True
                )
                if response.status_code != 200:
                    try:
                        response.read()
                    finally:
                        response.close()
                    self._raise_for(response, model)
                return response

        return self._patiently(once)

    def events(self, response: httpx.Response, *, model: str) -> Iterator[dict[str, Any] | None]:
        """The objects of an event stream; None for its end mark."""
        for line in response.iter_lines():
            if not line.startswith("data:"):
                if line and not line.startswith((":", "event:", "id:", "retry:")):
                    raise ModelReplyInvalid(
                        f"What answers at {self.label} is no event stream.", host=self.label
                    )
                continue
            data = line[5:].strip()
            if data == "[DONE]":
                yield None
                return
            event = json.loads(data)
            if not isinstance(event, dict):
                raise ModelReplyInvalid(
                    f"What {self.label} streams is not in OpenAI's form.", host=self.label
                )
            if event.get("error"):
                raise from_reply(-1, event, host=self.label, model=model, server="The server")
            yield event

    @contextmanager
    def translated(self, model: str) -> Iterator[None]:
        """Errors of transport and form become ``memory.errors``."""
        try:
            yield
        except MusebotError:
            raise
        except (httpx.ConnectTimeout, httpx.ConnectError):
            raise ModelUnavailable(
                f"{self.label} cannot be reached. Is it running, and is the address right?", host=self.label
            ) from None
        except httpx.TimeoutException:
            raise ModelTimeout(f"{self.label} did not answer in time.", host=self.label) from None
        except httpx.TransportError as error:
            raise ModelUnavailable(
                f"The connection to {self.label} broke off ({type(error).__name__}).", host=self.label
            ) from None
        except Exception as error:
            raise ModelReplyInvalid(
                f"What {self.label} answers is not in OpenAI's form ({type(error).__name__}).",
                host=self.label,
            ) from None

    def _raise_for(self, response: httpx.Response, model: str) -> None:
        if response.status_code == 200:
            return
        error = from_reply(
            response.status_code, response.text, host=self.label, model=model, server="The server"
        )
        if response.status_code == 401:
            error = ModelUnavailable(
                f"{self.label} does not accept the API key (401). Check OPENAI_API_KEY.", host=self.label
            )
        if pause := response.headers.get("retry-after"):
            error.details["retry_after"] = pause
        raise error

    def _patiently(self, once: Callable[[], T]) -> T:
        for pause in BUSY_PAUSES:
            try:
                return once()
            except HostBusy as error:
                self._sleep(_pause(error.details.get("retry_after"), pause))
        return once()


def _pause(told: Any, default: float) -> float:
    try:
        return min(max(float(told), default), MAX_PAUSE)
    except (TypeError, ValueError):
        return default
