"""The second step of signing in: a code of an authenticator app (TOTP), or one of the recovery codes. Secrets are stored encrypted."""

from __future__ import annotations

import base64
import binascii

from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt, encrypt
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory import audit
from memory.errors import InvalidInput
from musebot_site import encryption

PURPOSE = "second step"
WRONG_CODE = "This code does not fit. Wait for the next one, and check the clock of your phone."


class EncryptingAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """How allauth stores secrets of the second step (``MFA_ADAPTER``)."""

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text, purpose=PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypt(encrypted_text, purpose=PURPOSE)

    def get_totp_issuer(self) -> str:
        return "Musebot"


def is_on(user: User) -> bool:
    return bool(Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists())


def new_secret() -> str:
    """A secret to enrol with, base32; nothing is stored."""
    return str(totp.generate_totp_secret())


def enrol(*, user: User, secret: str, code: str) -> list[str]:
    """Switches it on once a code shows that the app has the secret; returns the recovery codes, which replace all older ones.

    Raises ``InvalidInput`` for a code that does not fit.
    """
    try:
        base64.b32decode(secret)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput("Begin again: the secret was lost on the way.") from error
    counter = _counter_of(secret, code)
    if counter is None:
        raise InvalidInput(WRONG_CODE, field="code")
    with transaction.atomic():
        Authenticator.objects.filter(user_id=user.pk).delete()
        data = {"secret": encrypt(secret), "last_counter": counter}
        Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data=data)
        codes = [str(code) for code in RecoveryCodes.activate(user).get_unused_codes()]
        _record(user, "second_step.on")
    return codes


def check(*, user: User, code: str) -> bool:
    """Whether a code of the app, or a recovery code, lets them in. Each works once, also when two requests bring it at a time."""
    with transaction.atomic():
        rows = Authenticator.objects.select_for_update().filter(user_id=user.pk)
        row = rows.filter(type=Authenticator.Type.TOTP).first()
        if row is None:
            return False
        counter = _counter_of(decrypt(row.data["secret"]), code)
        if counter is not None:
            if counter <= int(row.data.get("last_counter", -1)):
                return False
            row.data["last_counter"] = counter
            row.last_used_at = timezone.now()
            row.save(update_fields=["data", "last_used_at"])
            return True
        recovery = rows.filter(type=Authenticator.Type.RECOVERY_CODES).first()
        used = recovery is not None and bool(RecoveryCodes(recovery).validate_code(code))
        if used:
            _record(user, "second_step.recovered")
        return used


def recovery_codes_left(user: User) -> int:
    row = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(RecoveryCodes(row).get_unused_codes()) if row else 0


def new_recovery_codes(user: User) -> list[str]:
    """Replaces the recovery codes. Raises ``InvalidInput`` while the second step is off."""
    if not is_on(user):
        raise InvalidInput("Set up the second step first.")
    with transaction.atomic():
        Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.RECOVERY_CODES).delete()
        codes = [str(code) for code in RecoveryCodes.activate(user).get_unused_codes()]
        _record(user, "second_step.new_codes")
    return codes


def switch_off(user: User, *, by: str = "") -> bool:
    """Removes the secret and the recovery codes; False if there were none. ``by`` is an actor of the audit, if not themselves."""
    with transaction.atomic():
        removed, _ = Authenticator.objects.filter(user_id=user.pk).delete()
        if removed:
            _record(user, "second_step.off", by=by)
    return bool(removed)


def address(user: User, secret: str) -> str:
    """What the picture says to the app (``otpauth://…``)."""
    return str(EncryptingAdapter().build_totp_url(user, secret))


def picture(text: str) -> SafeString:
    """A QR code as an SVG element: one path, dark on light in both themes, as cameras want it."""
    import qrcode

    code = qrcode.QRCode(border=4, error_correction=qrcode.constants.ERROR_CORRECT_M)
    code.add_data(text)
    matrix = code.get_matrix()
    path = "".join(
        f"M{column} {row}h1v1h-1z"
        for row, line in enumerate(matrix)
        for column, dark in enumerate(line)
        if dark
    )
    return format_html(
        '<svg class="qr" viewBox="0 0 {0} {0}" role="img" aria-label="QR code for the authenticator app" '
        'shape-rendering="crispEdges"><rect width="{0}" height="{0}" fill="#fff"/><path d="{1}" fill="#000"/></svg>',
        len(matrix),
        path,
    )


def _counter_of(secret: str, code: str) -> int | None:
    """The half minute that a code belongs to, one before and one after now included; None if it does not fit."""
    given = normalize_user_code(code)
    found = None
    for counter in totp.yield_hotp_counters_from_time():
        if constant_time_compare(given, totp.format_hotp_value(totp.hotp_value(secret, counter))):
            found = counter
    return found


def _record(user: User, action: str, *, by: str = "") -> None:
    audit.record(actor=by or audit.admin(user.pk), action=action, kind="account", object_id=str(user.pk))
