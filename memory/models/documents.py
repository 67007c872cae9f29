"""What the community wrote down for everybody: documents, their versions, the passages of each, and how well they are found."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from memory.models.fields import RowKeyField
from memory.models.guild import Guild
from memory.models.reply import Reply

VERSION_SHIFT = 20
"""A chunk's key is its version's id in the high bits and its place in the document in the low 20."""


class Document(models.Model):
    """One document under one name. It answers with its active version, everywhere or on some servers."""

    class Origin(models.TextChoices):
        UPLOAD = "upload", "uploaded"
        COMMAND = "command", "the command line"
        API = "api", "the API"
        CONFIG = "config", "the configuration"
        TEXT = "text", "written by a program"

    name = models.CharField(
        max_length=200, help_text="The file's name as it was uploaded, made safe to show."
    )
    reference = models.CharField(
        max_length=300,
        null=True,
        blank=True,
        unique=True,
        help_text="What a program calls it; null for uploads.",
    )
    everywhere = models.BooleanField(default=True)
    guilds = models.ManyToManyField(
        Guild, blank=True, related_name="documents", help_text="Where it answers unless it does everywhere."
    )
    enabled = models.BooleanField(default=True)
    active = models.ForeignKey(
        "DocumentVersion", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.UPLOAD)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["-updated_at", "-id"], name="document_newest"),
            models.Index(fields=["name"], name="document_name"),
        ]

    def __str__(self) -> str:
        return self.name


class DocumentVersion(models.Model):
    """One upload of a document. The version before it serves until this one is ready."""

    class State(models.TextChoices):
        QUEUED = "queued"
        PARSE = "parse"
        CHUNK = "chunk"
        EMBED = "embed"
        READY = "ready"
        FAILED = "failed"
        CANCELLED = "cancelled"

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    source = models.CharField(max_length=300, help_text="What citations call it.")
    stored_name = models.CharField(max_length=64, help_text="The file's name in the folder; random.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file.")
    kind = models.CharField(max_length=10, blank=True, help_text="As it was found to be: markdown, pdf, …")
    title = models.CharField(max_length=300, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED)
    error_code = models.CharField(max_length=30, blank=True)
    reason = models.CharField(max_length=40, blank=True, help_text="A stable word for the cause.")
    error = models.CharField(max_length=500, blank=True)
    warnings = models.JSONField(default=list, help_text="In plain words.")
    sections = models.PositiveIntegerField(default=0)
    characters = models.PositiveBigIntegerField(default=0)
    chunks_total = models.PositiveIntegerField(default=0)
    chunks_done = models.PositiveIntegerField(default=0, help_text="Those that have their vector.")
    chunks_embedded = models.PositiveIntegerField(
        default=0, help_text="Those that were embedded for it; the others kept the vector of the same text."
    )
    created_at = models.DateTimeField(default=timezone.now)
    stage_at = models.DateTimeField(default=timezone.now, help_text="When the stage that it is in began.")
    ready_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="document_version_once")]
        indexes = [
            models.Index(
                fields=["state"],
                condition=models.Q(state__in=["queued", "parse", "chunk", "embed"]),
                name="document_version_busy",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}, version {self.number} ({self.state})"

    @property
    def busy(self) -> bool:
        """Whether work on it goes on or waits."""
        state = self.State
        return self.state in {state.QUEUED, state.PARSE, state.CHUNK, state.EMBED}


class Chunk(models.Model):
    """A passage of a version: what is found, shown and cited."""

    class Embedding(models.TextChoices):
        PENDING = "pending"
        DONE = "done"
        FAILED = "failed"

    key = RowKeyField(primary_key=True)
    version = models.ForeignKey(DocumentVersion, on_delete=models.CASCADE, related_name="chunks")
    text = models.TextField()
    heading = models.TextField(blank=True, help_text="Headings from the outermost inwards, one a line.")
    page = models.PositiveIntegerField(null=True, blank=True)
    row = models.PositiveIntegerField(null=True, blank=True)
    section = models.PositiveIntegerField(default=0)
    start = models.PositiveIntegerField(default=0)
    end = models.PositiveIntegerField(default=0)
    text_hash = models.CharField(max_length=32, db_index=True, help_text="Of what is embedded.")
    embedding = models.CharField(max_length=8, choices=Embedding, default=Embedding.PENDING)
    space = models.CharField(max_length=16, blank=True, help_text="Which vectors it has; empty for none.")

    class Meta:
        indexes = [
            models.Index(fields=["key"], condition=models.Q(embedding="pending"), name="chunk_pending")
        ]

    def __str__(self) -> str:
        return f"chunk {self.key}"

    @property
    def index(self) -> int:
        """Its place in the document, from 0."""
        return int(self.key) & ((1 << VERSION_SHIFT) - 1)

    @property
    def heading_path(self) -> tuple[str, ...]:
        return tuple(self.heading.split("\n")) if self.heading else ()


class DocumentWord(models.Model):
    """The vector of a single word that stands in documents: how near two words are in meaning, also across languages."""

    word = models.CharField(max_length=40)
    space = models.CharField(max_length=16)
    vector = models.BinaryField(help_text="Half precision, little-endian.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "word"], name="document_word_once")]

    def __str__(self) -> str:
        return f"word {self.pk}"


class ReplyChunk(models.Model):
    """A passage that a turn considered: injected under a number, cited, or why not."""

    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="chunks")
    chunk = models.ForeignKey(Chunk, on_delete=models.CASCADE, related_name="uses")
    rank = models.PositiveIntegerField(help_text="The number that it is cited by, where it was injected.")
    score = models.FloatField()
    scores = models.JSONField(default=dict)
    injected = models.BooleanField(default=True)
    cited = models.BooleanField(default=False)
    why_excluded = models.CharField(max_length=20, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["reply", "chunk"], name="reply_chunk_once")]

    def __str__(self) -> str:
        return f"{self.rank}. {self.chunk_id}"


class EvaluationQuestion(models.Model):
    """A question whose source is known; empty ``source`` for one that nothing should be found for."""

    question = models.CharField(max_length=400)
    source = models.CharField(max_length=300, blank=True, help_text="Name of the document that answers it.")
    contains = models.CharField(max_length=400, blank=True, help_text="Words of the passage that answers it.")
    guild = models.ForeignKey(Guild, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["question", "guild"], name="evaluation_question_once")]

    def __str__(self) -> str:
        return f"question {self.pk}"


class EvaluationRun(models.Model):
    """All questions asked once, after a change or by hand."""

    cause = models.CharField(max_length=200, blank=True, help_text="What had changed.")
    model = models.CharField(max_length=200, blank=True)
    questions = models.PositiveIntegerField(default=0)
    measures = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["-created_at", "-id"], name="evaluation_run_newest")]

    def __str__(self) -> str:
        return f"run {self.pk}"


class EvaluationResult(models.Model):
    """Where the expected source stood in one run; null for not found."""

    run = models.ForeignKey(EvaluationRun, on_delete=models.CASCADE, related_name="results")
    question = models.ForeignKey(EvaluationQuestion, on_delete=models.CASCADE, related_name="results")
    rank = models.PositiveIntegerField(null=True, blank=True)
    score = models.FloatField(null=True, blank=True)
    returned = models.PositiveIntegerField(default=0)
    best = models.CharField(max_length=300, blank=True, help_text="The citation that came first.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "question"], name="evaluation_result_once")]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.rank}"
