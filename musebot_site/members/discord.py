"""Sign-in with Discord, over django-allauth: authorization code with state and PKCE.

Discord is asked once, at sign-in, who somebody is and on which servers. The answer lives in their session, which is
encrypted; the tokens are dropped. No account is made of a member, and nothing of allauth's own is stored.
"""

from __future__ import annotations

from typing import Any, NoReturn
from urllib.parse import urlsplit

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.discord.provider import DiscordProvider
from allauth.socialaccount.providers.discord.views import DiscordOAuth2Adapter
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from memory.conf import get_config
from musebot_site.members import sign_in

API = "https://discord.com/api/v10"
SCOPES = ["identify", "guilds"]
CANCELLED = "access_denied"


def is_offered() -> bool:
    """Whether members can sign in: an application of Discord's is configured."""
    discord = get_config().discord
    return bool(discord.client_id and discord.client_secret)


def api_base() -> str:
    return get_config().discord.api_base or API


def origin() -> str:
    """Of the page at which Discord asks for permission, for the content security policy."""
    parts = urlsplit(api_base())
    return f"{parts.scheme}://{parts.netloc}"


class DiscordAdapter(DiscordOAuth2Adapter):  # type: ignore[misc]
    """Where the parts of Discord are, and what is asked of them."""

    @property
    def access_token_url(self) -> str:
        return f"{api_base()}/oauth2/token"

    @property
    def authorize_url(self) -> str:
        return f"{api_base()}/oauth2/authorize"

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any) -> Any:
        """Asks who it is and on which servers. Raises ``ProviderException`` if Discord does not say both."""
        with SignInAdapter(request).get_requests_session() as http:
            answers = {
                path: http.get(f"{api_base()}{path}", headers={"Authorization": f"Bearer {token.token}"})
                for path in ("/users/@me", "/users/@me/guilds")
            }
        if any(answer.status_code != 200 for answer in answers.values()):
            raise ProviderException("Discord did not say who it is.")
        data = answers["/users/@me"].json()
        login = self.get_provider().sociallogin_from_response(request, data)
        login.account.extra_data = {**data, "guilds": answers["/users/@me/guilds"].json()}
        return login


class Discord(DiscordProvider):  # type: ignore[misc]
    """What is asked for, whatever the request says. Who has agreed once is not asked again."""

    oauth2_adapter_class = DiscordAdapter
    pkce_enabled_default = True

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        return SCOPES

    def get_auth_params_from_request(self, request: HttpRequest, action: str) -> dict[str, str]:
        return {"prompt": "none"}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []


# Here and not as an installed application: it would be loaded, with an HTTP library of its own, wherever nobody signs in.
registry.register(Discord)


class SignInAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Takes over where allauth would look up, make or connect an account."""

    def get_app(self, request: HttpRequest, provider: str, client_id: str | None = None) -> SocialApp:
        """The application of the configuration; none of the database counts."""
        discord = get_config().discord
        if provider != "discord" or not discord.client_secret or not discord.client_id:
            raise SocialApp.DoesNotExist
        secret = discord.client_secret.get_secret_value()
        return SocialApp(provider="discord", name="Discord", client_id=discord.client_id, secret=secret)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> NoReturn:
        data = sociallogin.account.extra_data
        try:
            person = sign_in.read(data, data["guilds"])
        except (KeyError, TypeError, ValueError) as error:
            raise ProviderException("Discord's answer cannot be read.") from error
        target = sociallogin.state.get("next") or ""
        raise ImmediateHttpResponse(redirect(sign_in.complete(request, person, target=target)))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> NoReturn:
        """One way out of everything that goes wrong: back to the beginning, with a sentence."""
        cancelled = request.GET.get("error") == CANCELLED
        messages.error(
            request,
            "You did not allow it on Discord, so you are not signed in."
            if cancelled
            else "Discord did not let you in this time. Please try again.",
        )
        raise ImmediateHttpResponse(redirect("own:sign-in"))


def begin(request: HttpRequest) -> HttpResponse:
    """Leads to Discord's page; what comes back is checked against the state and the verifier kept in the session."""
    response: HttpResponse = OAuth2LoginView.adapter_view(DiscordAdapter)(request)
    return response


def callback(request: HttpRequest) -> HttpResponse:
    """Where Discord leads back to."""
    response: HttpResponse = OAuth2CallbackView.adapter_view(DiscordAdapter)(request)
    return response
