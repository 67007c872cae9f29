"""Static files are sent compressed. WhiteNoise does so only where a build step left compressed copies beside them; there is none here."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

COMPRESSIBLE = ("text/", "application/javascript", "application/json", "image/svg+xml")

_compressed: dict[str, tuple[str, bytes]] = {}
"""By path: the ETag of the file, and the file as gzip. There are as many as there are static files."""


class StaticCompressionMiddleware:
    """Compresses a static file when it is first asked for, and keeps it in memory. Stands before WhiteNoise."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not request.path_info.startswith(settings.STATIC_URL):
            return response
        if response.headers.get("Content-Type", "").startswith(COMPRESSIBLE):
            patch_vary_headers(response, ["Accept-Encoding"])
            # Part of a file is asked for by its place in what is not compressed.
            whole = request.method == "GET" and response.status_code == 200
            if whole and isinstance(response, FileResponse) and _takes_gzip(request):
                return _compress(request.path_info, response)
        return response


def _takes_gzip(request: HttpRequest) -> bool:
    offers = (each.replace(" ", "") for each in request.headers.get("Accept-Encoding", "").split(","))
    return any(each.split(";")[0] == "gzip" and not each.endswith(("q=0", "q=0.0")) for each in offers)


def _compress(path: str, response: FileResponse) -> HttpResponse:
    tag = response.headers.get("ETag", "")
    kept = _compressed.get(path)
    if kept is None or kept[0] != tag:
        kept = _compressed[path] = (tag, gzip.compress(response.getvalue(), mtime=0))
    # The file alone: closing the response would say that the request is over.
    if response.file_to_stream is not None:
        response.file_to_stream.close()
    # A new response: a server may send the file of a FileResponse by itself, whatever else it was told to.
    return HttpResponse(
        kept[1],
        headers={**response.headers, "Content-Encoding": "gzip", "Content-Length": str(len(kept[1]))},
    )
