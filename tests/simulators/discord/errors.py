"""Discord's error answers, and the control API's."""

from __future__ import annotations


class ApiErr(Exception):
    def __init__(self, status: int, code: int, message: str, errors: dict | None = None):
        self.status, self.code, self.message, self.errors = status, code, message, errors

    def body(self):
        b = {"message": self.message, "code": self.code}
        if self.errors:
            b["errors"] = self.errors
        return b


class CtlErr(Exception):
    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


def form_err(path: str, code: str, message: str) -> ApiErr:
    node = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(path.split(".")):
        node = {part: node}
    return ApiErr(400, 50035, "Invalid Form Body", node)


def unauthorized() -> ApiErr:
    return ApiErr(401, 0, "401: Unauthorized")


def unknown_channel() -> ApiErr:
    return ApiErr(404, 10003, "Unknown Channel")


def unknown_guild() -> ApiErr:
    return ApiErr(404, 10004, "Unknown Guild")


def unknown_member() -> ApiErr:
    return ApiErr(404, 10007, "Unknown Member")


def unknown_message() -> ApiErr:
    return ApiErr(404, 10008, "Unknown Message")


def unknown_user() -> ApiErr:
    return ApiErr(404, 10013, "Unknown User")


def unknown_webhook() -> ApiErr:
    return ApiErr(404, 10015, "Unknown Webhook")


def unknown_interaction() -> ApiErr:
    return ApiErr(404, 10062, "Unknown interaction")


def missing_access() -> ApiErr:
    return ApiErr(403, 50001, "Missing Access")


def missing_perms() -> ApiErr:
    return ApiErr(403, 50013, "Missing Permissions")
