"""Answers from the community's own documents: loading, chunking, ranking. Nothing in here needs a database."""
