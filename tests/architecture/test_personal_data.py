"""No model can hold something of a person without the erasure knowing of it."""

from django.apps import apps

PERSONAL_FIELDS = ("user_id", "author_id", "asker_id", "member")
# Where a person's id may stand without being erased with them, and why.
EXPECTED_WITHOUT = {
    "ErasureRequest": "cleared when the erasure is done",
}


def test_every_model_with_a_persons_id_is_counted_by_the_inventory_of_an_erasure():
    from memory.erasure import stores

    covered = stores.personal_models()
    for model in apps.get_app_config("memory").get_models():
        fields = {field.name for field in model._meta.get_fields() if getattr(field, "concrete", False)}
        if fields & set(PERSONAL_FIELDS) and model.__name__ not in EXPECTED_WITHOUT:
            assert model.__name__ in covered, f"{model.__name__} holds a person's id; memory.erasure must purge it"
