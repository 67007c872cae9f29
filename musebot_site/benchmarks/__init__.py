"""Measurements of the dashboard and of the processes, each with what it is compared with in the same run."""
