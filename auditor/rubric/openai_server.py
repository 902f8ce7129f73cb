"""A reviewer behind an OpenAI-compatible server. The only importer of `openai`, at use (51 times a bare interpreter).

Bounds that the client does not have: one deadline for the whole request, a largest body, no redirects, and no body of
an error is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from skillkeep.auditor.rubric.completion import read_completion
from skillkeep.auditor.rubric.interface import Prompt, Reply, Reviewer, ReviewFailedError, SkipReason
from skillkeep.auditor.rubric.watchdog import Watchdog

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAIReviewer"]

_LARGEST_BODY = 1 << 20
_MOST_WAITS = 3
_NO_SCHEMA = frozenset({400, 422, 501})  # how servers say that they do not know `response_format`
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class _StatusError(Exception):
    """The server answered with something other than 200."""

    def __init__(self, status: int, retry_after: str) -> None:
        super().__init__(str(status))
        self.status = status
        self.retry_after = retry_after


class _Gate:
    """A response hook of httpx: anything but 200 ends here, before a byte of its body is read."""

    def __init__(self) -> None:
        self.refused: _StatusError | None = None

    def check(self, response: Any) -> None:
        if response.status_code != 200:
            self.refused = _StatusError(int(response.status_code), str(response.headers.get("retry-after", "")))
            raise self.refused


class OpenAIReviewer(Reviewer):
    """Model `name` at `base_url`. `key` None sends none; an empty one is a missing one and skips the phase."""

    def __init__(
        self, base_url: str, name: str, key: str | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = name
        self._base_url = base_url
        self._key = key
        self._sleep = sleep
        self._schema = True

    def ask(self, prompt: Prompt, seconds: float) -> Reply:
        """See `Reviewer.ask`. Waits as a 429 asks when that ends in time; drops the schema for a server without it."""
        if self._key is not None and not self._key.strip():
            raise ReviewFailedError(SkipReason.NO_KEY, "the variable that holds the key is not set")
        deadline = time.monotonic() + seconds
        waits = 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ReviewFailedError(SkipReason.TIMEOUT)
            try:
                return self._once(prompt, left)
            except _StatusError as error:
                if error.status in _NO_SCHEMA and self._schema:
                    self._schema = False
                    continue
                if error.status != 429:
                    raise _failure(error.status) from None
                wait = _wait(error.retry_after)
                waits += 1
                if waits > _MOST_WAITS or wait >= deadline - time.monotonic():
                    raise ReviewFailedError(SkipReason.RATE_LIMITED, "status 429") from None
                self._sleep(wait)

    def _once(self, prompt: Prompt, seconds: float) -> Reply:
        from openai import APITimeoutError

        gate = _Gate()
        with Watchdog(seconds) as watchdog:
            try:
                with self._client(watchdog, gate, seconds) as client:
                    return read_completion(self._body(client, prompt))
            except ReviewFailedError:
                raise
            except Exception as error:  # the client's errors, and those of its transport while the body is read
                if gate.refused is not None:
                    raise gate.refused from None
                late = watchdog.fired or isinstance(error, APITimeoutError)
                reason = SkipReason.TIMEOUT if late else SkipReason.UNREACHABLE
                raise ReviewFailedError(reason, type(error).__name__) from None

    def _client(self, watchdog: Watchdog, gate: _Gate, seconds: float) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI

        hooks: dict[str, list[Callable[..., Any]]] = {"request": [watchdog.watch], "response": [gate.check]}
        http = DefaultHttpxClient(
            timeout=seconds,
            follow_redirects=False,
            trust_env=urlsplit(self._base_url).hostname not in _LOOPBACK,
            event_hooks=hooks,
        )
        client = OpenAI(
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=seconds,
            default_headers={"Accept-Encoding": "identity"},
            http_client=http,
        )
        client.organization = client.project = None  # the client would take them from the environment
        return client

    def _body(self, client: OpenAI, prompt: Prompt) -> bytes:
        extra: dict[str, Any] = {}
        if self._schema:
            wanted = {"name": "review", "strict": True, "schema": prompt.schema}
            extra["response_format"] = {"type": "json_schema", "json_schema": wanted}
        create = client.chat.completions.with_streaming_response.create
        messages: Any = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        body = bytearray()
        with create(model=self.name, messages=messages, **extra) as response:
            for chunk in response.iter_bytes(1 << 16):
                body += chunk
                if len(body) > _LARGEST_BODY:
                    raise ReviewFailedError(SkipReason.TOO_LONG, f"more than {_LARGEST_BODY} bytes")
        return bytes(body)


def _failure(status: int) -> ReviewFailedError:
    reason = SkipReason.SERVER_ERROR if status >= 500 else SkipReason.REJECTED
    return ReviewFailedError(reason, f"status {status}")


def _wait(retry_after: str) -> float:
    """Seconds that a ``Retry-After`` header asks for (RFC 9110, 10.2.3: a number or a date); 1 when it says nothing."""
    if retry_after.strip().isascii() and retry_after.strip().isdigit():
        return float(retry_after.strip()[:9])
    try:
        return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return 1.0
