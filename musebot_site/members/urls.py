"""Routes of members: each is about the person who is signed in, and names nobody."""

from django.urls import path

from musebot_site.members.views import actions, entrance, own, sources

app_name = "own"

urlpatterns = [
    path("sign-in/discord/", entrance.sign_in, name="sign-in"),
    path("me/", own.index, name="index"),
    path("me/memories/", own.memories, name="memories"),
    path("me/memories/<int:key>/", own.memory, name="memory"),
    path("me/facts/", own.facts, name="facts"),
    path("me/facts/correct/", actions.correct_fact, name="fact-correct"),
    path("me/facts/forget/", actions.forget_fact, name="fact-forget"),
    path("me/core-memory/", own.core_memory, name="core-memory"),
    path("me/replies/", own.replies, name="replies"),
    path("me/export/", actions.take_along, name="export"),
    path("me/withdraw/", actions.withdraw, name="withdraw"),
    path("me/erasures/<uuid:request_id>/", actions.progress, name="erasure"),
    path("me/sign-out/", actions.sign_out, name="sign-out"),
    path("sources/<int:document_id>/", sources.source, name="source"),
]
