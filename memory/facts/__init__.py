"""Short facts about each member: found in what they write or written by hand, renewed, corrected, expired, forgotten."""

from memory.facts.decisions import add, approve, edit, merge, renew, settle
from memory.facts.extraction import enqueue, extract_entries, extract_memory, idle
from memory.facts.injection import InjectedFact, facts_for_turn
from memory.facts.screening import REASONS
from memory.facts.services import EXTRACT, FactInfo, forget, forget_by_id, memory, memory_facts, remember
from memory.facts.storing import purge_expired

__all__ = [
    "EXTRACT",
    "REASONS",
    "FactInfo",
    "InjectedFact",
    "add",
    "approve",
    "edit",
    "enqueue",
    "extract_entries",
    "extract_memory",
    "facts_for_turn",
    "forget",
    "forget_by_id",
    "idle",
    "memory",
    "memory_facts",
    "merge",
    "purge_expired",
    "remember",
    "renew",
    "settle",
]
