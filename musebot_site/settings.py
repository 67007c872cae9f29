"""Django's settings. What people configure is read in ``musebot_site.config``; this turns it into Django's names."""

import os
from pathlib import Path

from memory.index import databases
from memory.index.connection import use_capable_sqlite
from musebot_site.config import kept_secret, load_config
from musebot_site.earlier_memory import set_aside
from musebot_site.libraries import package_folder

# Every entry point (manage.py, Celery, WSGI, tests) loads these settings before Django opens a connection.
use_capable_sqlite()

BASE_DIR = Path(__file__).resolve().parent.parent
MUSEBOT = load_config()
# Pages and scripts of the API's documentation. As an application the library would be loaded in processes that serve nobody.
_NINJA = package_folder("ninja")

DEBUG = os.environ.get("DJANGO_DEBUG", "").lower() in {"1", "true", "yes"}
SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY") or kept_secret(MUSEBOT.home, "secret_key")
ALLOWED_HOSTS = [
    host.strip()
    for host in os.environ.get("DJANGO_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
    if host.strip()
]
CSRF_TRUSTED_ORIGINS = [f"https://{host.lstrip('.')}" for host in ALLOWED_HOSTS if host not in {"*"}]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "memory.apps.MemoryConfig",
    "botrunner.apps.BotrunnerConfig",
    "musebot_site.apps.SiteConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "musebot_site.static_files.StaticCompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "musebot_site.middleware.PageCompressionMiddleware",
    "musebot_site.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "musebot_site.middleware.SessionAgeMiddleware",
    "musebot_site.middleware.SecondStepMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "musebot_site.middleware.ViewerZoneMiddleware",
]

ROOT_URLCONF = "musebot_site.urls"
WSGI_APPLICATION = "musebot_site.wsgi.application"
CELERY_APP = "musebot_site.celery.app"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", _NINJA / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "musebot_site.dashboard.context.frame",
            ]
        },
    }
]

# Each process counts what it does in a file of its own there; read before anything imports prometheus_client.
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(MUSEBOT.home / "metrics"))
Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).mkdir(parents=True, exist_ok=True)

MUSEBOT.database_path.parent.mkdir(parents=True, exist_ok=True)
# The original keeps its memory in the same place; it must not be migrated.
set_aside(MUSEBOT.database_path)
DATABASES = {
    "default": databases.postgres(MUSEBOT.database_url)
    if MUSEBOT.database_url
    else databases.sqlite(MUSEBOT.database_path)
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "dashboard:sign-in"
LOGIN_REDIRECT_URL = "dashboard:overview"
LOGOUT_REDIRECT_URL = "dashboard:sign-in"

# Of allauth's, the sign-in with Discord and the second step are used. It makes no accounts and keeps no tokens.
SOCIALACCOUNT_ADAPTER = "musebot_site.members.discord.SignInAdapter"
MFA_ADAPTER = "musebot_site.dashboard.second_step.EncryptingAdapter"
MFA_TOTP_TOLERANCE = 1  # half a minute early or late: clocks differ
REQUIRE_TOTP = os.environ.get("MUSEBOT_REQUIRE_TOTP", "").lower() in {"1", "true", "yes"}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static", _NINJA / "static"]
STATIC_ROOT = MUSEBOT.home / "staticfiles"
STATIC_ROOT.mkdir(
    exist_ok=True
)  # empty: files are served from where they are; WhiteNoise warns if it is missing
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 7 * 24 * 3600  # musebot_site.sessions ends most of them earlier
SESSION_SERIALIZER = "musebot_site.encryption.EncryptedSerializer"
CSRF_COOKIE_SAMESITE = "Lax"
# Behind a proxy that ends TLS, DJANGO_HTTPS=1 marks cookies as secure and trusts the proxy's header.
if os.environ.get("DJANGO_HTTPS", "").lower() in {"1", "true", "yes"}:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000
    # The prefix keeps other hosts of the domain, and pages without TLS, from setting these cookies.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    # Whether other names of the domain are HTTPS alone, and whether browsers are told so beforehand, is its owner's to say.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
else:
    # One warning of ours (musebot.W001) says what to do, in place of four about single settings.
    SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008", "security.W012", "security.W016"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Bodies are never logged; a record names ids and counts only.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"type_and_place": {"()": "musebot_site.logs.TypeAndPlace"}},
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "musebot_site.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "json" if os.environ.get("MUSEBOT_LOG_FORMAT", "").lower() == "json" else "line",
        }
    },
    "root": {"handlers": ["console"], "level": os.environ.get("MUSEBOT_LOG_LEVEL", "INFO")},
    "loggers": {
        "django.request": {"level": "ERROR", "filters": ["type_and_place"]},
        # httpx logs every URL it calls, httpcore every host, discord its gateway traffic, Django all SQL with its values.
        "httpx": {"level": "WARNING"},
        "httpcore": {"level": "WARNING"},
        "django.db.backends": {"level": "WARNING"},
        "discord": {"level": "WARNING"},
        "kombu": {"level": "WARNING"},
    },
}
