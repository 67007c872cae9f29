"""Routes of the dashboard. What is not guarded is named here, and is little."""

from django.urls import path

from musebot_site.dashboard.http import guarded_path as page
from musebot_site.dashboard.views import (
    access,
    erasures,
    members,
    memories,
    memory_actions,
    overview,
    playground,
    replies,
)

app_name = "dashboard"

public = [
    path("sign-in/", access.sign_in, name="sign-in"),
    path("welcome/<str:token>/", access.welcome, name="welcome"),
    path("theme/", access.theme, name="theme"),
]

urlpatterns = [
    *public,
    page("", overview.index, "overview"),
    page("sample/", overview.sample, "sample"),
    page("sign-out/", access.sign_out, "sign-out"),
    page("memories/", memories.index, "memories"),
    page("memories/<int:key>/", memories.detail, "memory"),
    page("memories/count/", memory_actions.count, "memories-count"),
    page("memories/erase/", memory_actions.erase, "memories-erase"),
    page("memories/pause/", memory_actions.pause, "memories-pause"),
    page("members/", members.index, "members"),
    page("members/<int:user_id>/", members.detail, "member"),
    page("members/<int:user_id>/erase/", members.erase, "member-erase"),
    page("erasures/", erasures.index, "erasures"),
    page("erasures/<uuid:request_id>/", erasures.detail, "erasure"),
    page("erasures/<uuid:request_id>/continue/", erasures.resume, "erasure-continue"),
    page("playground/", playground.index, "playground"),
    page("playground/stream/", playground.stream, "playground-stream"),
    page("playground/sandbox/", playground.sandbox_action, "sandbox"),
    page("replies/", replies.index, "replies"),
    page("replies/<uuid:trace_id>/", replies.detail, "reply"),
]
