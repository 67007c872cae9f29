"""All routes: the dashboard at /, the API at /api/v1/."""

from django.urls import URLPattern, URLResolver, include, path

from musebot_site import metrics, probes
from musebot_site.api.app import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/v1/", api.urls),
    path("", include("musebot_site.dashboard.urls")),
]

handler403 = "musebot_site.dashboard.http.forbidden"
handler404 = "musebot_site.dashboard.http.not_found"
