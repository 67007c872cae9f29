"""The way in with Discord."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from musebot_site.dashboard.http import back_to
from musebot_site.members import discord
from musebot_site.members.sign_in import person_of
from musebot_site.middleware import policy


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """A button, and what it does. It is a form, so that no other page can set off a sign-in."""
    offered = discord.is_offered()
    if request.method == "POST":
        if not offered:
            raise Http404
        return discord.begin(request)
    target = back_to(request, "")
    if person_of(request) is not None:
        return redirect(target or "own:index")
    response = render(
        request, "own/sign_in.html", {"offered": offered, "next": target}, status=200 if offered else 404
    )
    if offered:
        response.headers["Content-Security-Policy"] = policy(forms_lead_to=[discord.origin()])
    return response


@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """Where Discord leads back to, with a code."""
    if not discord.is_offered():
        raise Http404
    return discord.callback(request)
