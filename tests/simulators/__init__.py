"""Test servers: a Discord (`discord`) and an Ollama (`ollama`). Manual: README.md."""
