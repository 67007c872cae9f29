"""Routes of one's own account. They need no role: whoever is signed in with a password reaches their own, and nothing else."""

from django.urls import path

from musebot_site.dashboard.views import access, account

app_name = "account"

urlpatterns = [
    path("sign-in/code/", access.code, name="code"),
    path("account/", account.index, name="index"),
    path("account/password/", account.password, name="password"),
    path("account/second-step/", account.enrol, name="second-step"),
    path("account/second-step/off/", account.switch_off, name="second-step-off"),
    path("account/second-step/codes/", account.new_codes, name="recovery-codes"),
]
