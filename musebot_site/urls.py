"""All routes: the dashboard at /, the API at /api/v1/."""

from django.urls import URLPattern, URLResolver, include, path

from musebot_site import metrics, probes
from musebot_site.api.app import api
from musebot_site.members.views import entrance

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/v1/", api.urls),
    # The name is allauth's: it makes the address that Discord leads back to from it.
    path("sign-in/discord/callback/", entrance.callback, name="discord_callback"),
    path("", include("musebot_site.members.urls")),
    path("", include("musebot_site.dashboard.account_urls")),
    path("", include("musebot_site.dashboard.urls")),
]

handler403 = "musebot_site.dashboard.http.forbidden"
handler404 = "musebot_site.dashboard.http.not_found"
