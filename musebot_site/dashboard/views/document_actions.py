"""What is done to documents: upload, decide about same names, scope, switch, roll back, retry, cancel, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.http.response import HttpResponseRedirectBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from memory import selectors
from memory.conf import get_config
from memory.errors import Forbidden, MusebotError
from memory.rag import documents, files
from musebot_site.dashboard import records
from musebot_site.dashboard.document_forms import ScopeForm, staged, unstaged
from musebot_site.dashboard.forms import TypedConfirmation
from musebot_site.dashboard.http import Request, allowed_servers, back_to, own_servers, page
from musebot_site.dashboard.views.documents import find, may_change

MOST_FILES = 100


@require_POST
def upload(request: Request) -> HttpResponse:
    """Takes files in; those whose name is taken are asked about on a page of their own."""
    given = request.FILES.getlist("file")[:MOST_FILES]
    form = _scope_form(request)
    if not given or not form.is_valid():
        reason = "Choose a file first." if not given else next(iter(form.errors.values()))[0]
        messages.error(request, str(reason))
        return redirect("dashboard:documents")
    guild_ids = form.guild_ids()
    taken, questions = 0, []
    for file in given:
        try:
            if question := _same_name(file, guild_ids):
                questions.append(question)
                continue
            documents.upload(name=file.name or "", data=_read(file), guild_ids=guild_ids)
            taken += 1
        except MusebotError as error:
            messages.error(request, f"{_shown(file)}: {error.message}")
    records.note(request, counts={"documents": taken})
    if taken:
        noun = "document" if taken == 1 else "documents"
        messages.success(
            request, f"{taken} {noun} taken in. What is in them is found as soon as they are ready."
        )
    if questions:
        return page(request, "documents/same.html", {"questions": questions})
    return redirect("dashboard:documents")


def _number(text: str) -> int:
    """The number of a version; 0, which no version has, for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _same_name(file: UploadedFile, guild_ids: list[int] | None) -> dict[str, Any] | None:
    """The question about a file whose name is taken; the file waits meanwhile."""
    existing = documents.find_same(file.name or "", guild_ids)
    if existing is None:
        return None
    data = _read(file)
    if len(data) > get_config().rag.max_file_bytes:
        return None  # refused with its reason where it is taken in
    token = staged(files.keep(data), file.name or "", guild_ids)
    return {"name": existing.name, "document": existing, "token": token, "size": len(data)}


def _read(file: UploadedFile) -> bytes:
    """One byte more than is allowed is enough to refuse it."""
    data: bytes = file.read(get_config().rag.max_file_bytes + 1)
    return data


def _shown(file: UploadedFile) -> str:
    try:
        return files.safe_name(file.name or "")
    except MusebotError:
        return "A file"


@require_POST
def decide(request: Request) -> HttpResponse:
    """Replace or keep both, for each file that waits."""
    done = 0
    for token in request.POST.getlist("token")[:MOST_FILES]:
        try:
            stored_name, name, guild_ids = unstaged(token)
            if not _may_answer(request, guild_ids):
                raise Forbidden("This account may not put documents there.")
            choice = request.POST.get(f"same-{token}", request.POST.get("same", ""))
            if choice != "skip":
                documents.upload(
                    name=name,
                    data=files.read(stored_name),
                    guild_ids=guild_ids,
                    same=documents.require_mode(choice),
                )
                done += 1
            files.remove(stored_name)
        except signing.BadSignature:
            messages.error(request, "It took too long to decide; upload the file again.")
        except MusebotError as error:
            messages.error(request, error.message)
    records.note(request, counts={"documents": done})
    if done:
        messages.success(request, f"{done} {'document' if done == 1 else 'documents'} taken in.")
    return redirect("dashboard:documents")


@require_POST
def new_version(request: Request, document_id: int) -> HttpResponse:
    _require(request, document_id)
    given: Sequence[UploadedFile] = request.FILES.getlist("file")
    if not given:
        messages.error(request, "Choose a file first.")
    else:
        documents.replace(document_id, name=given[0].name or "", data=_read(given[0]))
        messages.success(request, "Taken in. The version before it answers until this one is ready.")
    return _to(document_id)


@require_POST
def change(request: Request, document_id: int) -> HttpResponse:
    """One of the buttons of a document's page."""
    _require(request, document_id)
    action = request.POST.get("action", "")
    if action == "enable":
        documents.set_enabled(document_id, enabled=True)
        messages.success(request, "It answers again.")
    elif action == "disable":
        documents.set_enabled(document_id, enabled=False)
        messages.success(request, "It is kept, and answers nothing until you switch it on.")
    elif action == "retry":
        documents.retry(document_id)
    elif action == "cancel":
        documents.cancel(document_id)
        messages.success(request, "Cancelled.")
    elif action == "scope":
        _set_scope(request, document_id)
    elif action == "roll-back":
        version = documents.roll_back(document_id, number=_number(request.POST.get("version", "")))
        messages.success(request, f"Version {version.number} answers now.")
    return redirect(back_to(request, reverse("dashboard:document", args=[document_id])))


def _set_scope(request: Request, document_id: int) -> None:
    form = _scope_form(request)
    if form.is_valid():
        documents.set_scope(document_id, guild_ids=form.guild_ids())
        messages.success(request, "Changed where it answers.")
    else:
        messages.error(request, str(next(iter(form.errors.values()))[0]))


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: Request, document_id: int) -> HttpResponse:
    """Asks first, with what goes."""
    _require(request, document_id)
    row = documents.get(document_id)
    form = TypedConfirmation(request.POST if request.method == "POST" else None, accepted=[row.name])
    if request.method == "POST" and form.is_valid():
        gone = documents.delete(document_id)
        records.note(request, counts={"passages": gone})
        messages.success(request, f"Deleted {row.name} with {gone:,} passages.")
        return redirect("dashboard:documents")
    full = selectors.document(document_id)
    context = {
        "row": full,
        "passages": sum(version.chunks_total for version in full.all_versions) if full else 0,  # type: ignore[attr-defined]
        "form": form,
    }
    return page(request, "documents/delete.html", context, status=422 if form.errors else 200)


def _require(request: Request, document_id: int) -> None:
    """Raises ``NotFound`` for a document that this account may not see, ``Forbidden`` for one that it may only see."""
    if not may_change(request, find(request, document_id)):
        raise Forbidden("This document answers on other servers, too. Ask an owner to change it.")


def _scope_form(request: Request) -> ScopeForm:
    everywhere = allowed_servers(request) is None
    return ScopeForm(request.POST, guilds=own_servers(request), everywhere=everywhere)


def _may_answer(request: Request, guild_ids: Sequence[int] | None) -> bool:
    servers = allowed_servers(request)
    return servers is None or (guild_ids is not None and servers.issuperset(guild_ids))


def _to(document_id: int) -> HttpResponseRedirectBase:
    return redirect("dashboard:document", document_id=document_id)
