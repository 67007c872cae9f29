"""Headers that every response carries, how long a session lasts, compression, and the viewer's time zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import redirect
from django.utils import timezone

from musebot_site import sessions

PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "publickey-credentials-get",
        "usb",
    )
)

Handler = Callable[[HttpRequest], HttpResponseBase]


def policy(*, forms_lead_to: Sequence[str] = ()) -> str:
    """The content security policy. A form that ends at another origin, by a redirect, has to name it in ``forms_lead_to``."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            " ".join(("form-action 'self'", *forms_lead_to)),
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


POLICY = policy()


class ContentSecurityPolicyMiddleware:
    """Nothing inline, nothing from elsewhere."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class PageCompressionMiddleware(GZipMiddleware):
    """Compresses whole pages. A stream is left alone, and so is what sets ``uncompressed``: pages that show a secret.

    Against guessing what else stands on a page by its compressed length, Django masks the token of forms and adds a random number
    of bytes to each response; and no other site can have a page fetched with the reader's cookie, but by opening it.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        page = response.headers.get("Content-Type", "").startswith("text/html")
        if response.streaming or not page or getattr(response, "uncompressed", False):
            return response
        return super().process_response(request, response)


class SessionAgeMiddleware:
    """Ends a session that lasted long enough, or that nobody used for a while."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        session = request.session
        if "_auth_user_id" in session or "discord" in session:
            if sessions.has_ended(session):
                session.flush()
                request.user = AnonymousUser()
            else:
                sessions.seen(session)
        return self.get_response(request)


class SecondStepMiddleware:
    """Where the second step is required (``MUSEBOT_REQUIRE_TOTP``), lets nobody with a password go on before it is set up."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.REQUIRE_TOTP and self._has_to_set_it_up(request):
            return redirect("account:second-step")
        return self.get_response(request)

    @staticmethod
    def _has_to_set_it_up(request: HttpRequest) -> bool:
        # Only pages are looked at: routes of the API and probes know nobody who is signed in.
        from musebot_site.dashboard import second_step

        if request.path.startswith(("/account/", "/sign-in/", "/sign-out/", "/theme/", "/static/", "/api/")):
            return False
        user = request.user
        return user.is_authenticated and user.has_usable_password() and not second_step.is_on(user)


class ViewerZoneMiddleware:
    """Shows times in the zone that the viewer's browser named in a cookie; UTC until it did."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with timezone.override(_zone(request.COOKIES.get("tz", ""))):
            return self.get_response(request)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
