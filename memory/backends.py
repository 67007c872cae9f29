"""The one place that chooses implementations: which embedder, chat model, vision model and indexes are configured."""
