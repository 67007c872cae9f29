"""Whether a member's message says what a model claims that it says.

Each word that carries the claim is looked for in the message, clause by clause: a clause may deny it, ask it, wish it, or be about
somebody else. A claim whose words the message does not hold was not made there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from memory.facts.attributes import parse, without_subject
from memory.facts.text import FUNCTION_WORDS, alike, clean, content_words, fold, words

Support = Literal["said", "partly", "uncertain", "denied", "others", "unsaid"]

_QUOTE = re.compile(r"^\s*>.*$", re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_CLAUSE = re.compile(
    r"[.!;:\n…]+(?:\s|$)|(?<=\?)|,\s*|\s[-–—]+\s|\b(?:but|however|although|though|whereas|while|and then|and now|and i|and my|instead|pero|aunque|sino|mientras que|"
    r"y ahora|y yo|y mi)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|n['’]?t|never|no longer|dont|doesnt|isnt|cant|wont|didnt|hate|hates|dislike|detest|used to|quit|left|leaving|stopped|gave up|sold|lost|"
    r"resigned|fired|instead of|rather than|former|formerly|previous|previously|old|ex|no|ya no|nunca|tampoco|odio|dejé|deje|renuncié|antes|solía|nicht|kein\w*|pas|não)\b|n['’]t\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:if|wish|would|could|might|maybe|perhaps|want to|wanna|hope to|hoping to|plan to|planning to|thinking (?:of|about)|considering|dream(?:ing)? of|imagine|pretend|someday|"
    r"one day|joking|jk|kidding|supposedly|say (?:that )?i|si|ojalá|quisiera|quiero|quizás?|tal vez|pienso|imagina|finge|broma)\b",
    re.IGNORECASE,
)
_OWN_PLANS = re.compile(
    r"\b(?:wants?|plans?|hopes?|dreams?|wish(?:es)?|would|considering|thinking|might|may|quiere|planea|sueña|espera)\b", re.IGNORECASE
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]?m|i['’]?ve|i['’]?ll|im|ive|me|mine|myself|we|we['’]?re|yo|soy|estoy|tengo|vivo|trabajo|me|nos|ich|je|j['’]|eu)\b", re.IGNORECASE
)
_RELATION = (
    r"(?:sister|brother|mother|mom|mum|father|dad|parents?|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kids?|child(?:ren)?|baby|"
    r"aunt|uncle|cousin|niece|nephew|grand(?:ma|pa|mother|father)|friends?|roommate|flatmate|neighbou?rs?|boss|manager|colleagues?|coworkers?|co-workers?|teacher|"
    r"classmate|ex|landlord|in-laws?|hermanas?|hermanos?|madre|mamá|padre|papá|padres|esposa|esposo|mujer|marido|pareja|novia|novio|hijos?|hijas?|tía|tío|prim[oa]s?|"
    r"abuel[oa]s?|amig[oa]s?|jef[ea]|compañer[oa]s?|vecin[oa]s?|sobrin[oa]s?)"
)
_ABOUT_OTHERS = re.compile(
    rf"\b(?:my|our|his|her|their|the|mi|mis|nuestr[oa]s?|su|sus)\s+(?:\w+\s+)?{_RELATION}\b|^\W*(?:and\s+|y\s+)?(?:she|he|they|ella|él|ellos|ellas)\b", re.IGNORECASE
)
_NAMED = re.compile(
    r"^\W*(?:and |y )?@?(?P<name>[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+)(?:\s+[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+)?\s+(?:also |just |now |still )?(?:lives?|works?|likes?|loves?|hates?|is|was|has|had|moved|"
    r"studies|prefers?|says?|said|told|vive|trabaja|tiene|es|odia|prefiere|dijo|dice|se)\b"
)
_NO_NAMES = frozenset("i it this that there here what who now today yesterday name everyone everybody nobody home work job life yo hoy ayer esto eso".split())
_OLD_NEW = (
    re.compile(r"\bfrom\s+(?P<old>[^,.;]+?)\s+(?:to|into)\s+(?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(r"\b(?:mud\w+|cambi\w+)\s+de\s+(?P<old>[^,.;]+?)\s+(?:a|para)\s+(?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(r"\b(?:mov(?:ed|ing)|relocated|back|switched)\s+to\s+(?P<new>[^,.;]+?)\s+from\s+(?P<old>[^,.;]+)", re.IGNORECASE),
    re.compile(r"(?P<new>[^,.;]*?)\b(?:instead of|rather than|and not|en vez de|en lugar de|y no)\s+(?P<old>[^,.;]+)", re.IGNORECASE),
    re.compile(r"\b(?:not|no)\s+(?P<old>[^,.;]+?)\s+(?:but|sino)\s+(?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(r"(?P<new>)\b(?:left|quit|leaving|resigned from|sold|dejé|renuncié a)\s+(?P<old>[^,.;]+?)(?=\s+(?:to|for|and|para|y)\b|[,.;]|$)", re.IGNORECASE),
)
_PAST_OF_FACT = re.compile(r"\b(?:from|formerly|former|previously|used to|no longer|before|until|not|n.t|never|left|quit|ya no|antes|de|instead|dislikes?|hates?|odia|no|without)\b|n['’]t\b", re.IGNORECASE)
_NEGATIVE_FACT = re.compile(
    r"\b(?:no longer|not|never|doesnt|dont|isnt|cant|without|no|dislikes?|hates?|detests?|stopped|quit|left|used to|former(?:ly)?|previously|ya no|nunca|odia|dejó)\b|n['’]t\b",
    re.IGNORECASE,
)
CUE = re.compile(
    r"\b(?:mov(?:ed|ing)|relocated|now|no longer|not any ?more|anymore|any more|new|actually|correction|correct|used to|changed|switched|quit|left|instead|from now|these days|"
    r"wrong|mistake|sorry|i meant|renamed|turned|finally|started|promoted|got (?:a|the) (?:new )?job|ahora|ya no|nuev[oa]|mud[eéó]\w*|cambi[eéó]\w*|en realidad|me equivoqué|"
    r"corrijo|corrección|perdón|empecé|dejé|renuncié|jetzt|nicht mehr|maintenant)\b|,\s*not\b|\bnot\s+\w+\s*,",
    re.IGNORECASE,
)
_NUMBERS = {
    name: str(number)
    for number, names in enumerate(
        "zero,one uno una un,two dos,three tres,four cuatro,five cinco,six seis,seven siete,eight ocho,nine nueve,ten diez,eleven once,twelve doce".split(",")
    )
    for name in names.split()
}


def own_words(message: str) -> str:
    """The message without what it quotes from somebody else, and without code."""
    return _CODE.sub(" ", _QUOTE.sub(" ", message)).strip()


def is_correction(message: str) -> bool:
    """Whether the message speaks of a change or a mistake."""
    return bool(CUE.search(clean(own_words(message))))


def support(fact: str, message: str, names: Iterable[str] = ()) -> Support:
    """How far the message says what the fact says.

    ``said``: all of it. ``partly``: most of its words. ``uncertain``: as a wish, a plan or a question. ``denied``: the opposite, or
    of the past. ``others``: of somebody else. ``unsaid``: its words are not there.
    """
    names = tuple(names)
    claim = _claim(fact, names)
    clauses = [clause for clause in _CLAUSE.split(own_words(message)) if clause and clause.strip()]
    if not claim or not clauses:
        return "unsaid"
    verdicts = [_word(word, fact, clauses, names) for word in claim]
    for worst in ("denied", "others"):
        if worst in verdicts:
            return worst  # type: ignore[return-value]
    missing = [word for word, verdict in zip(claim, verdicts, strict=True) if verdict == "unsaid"]
    if missing:
        specific = any(_is_specific(word, fact, names) for word in missing)
        return "unsaid" if specific or len(missing) * 2 >= len(claim) else "partly"
    return "uncertain" if "uncertain" in verdicts else "said"


def _claim(fact: str, names: tuple[str, ...]) -> list[str]:
    plain = without_subject(fact, names)
    found = content_words(plain)
    for attribute in parse(fact, names):
        if attribute.kind in {"pronouns", "name", "nickname"}:
            found += [word for word in attribute.value if word not in found]
    if found:
        return found
    return [word for word in words(plain) if word not in FUNCTION_WORDS and not _NEGATIVE_FACT.fullmatch(word)]


def _word(word: str, fact: str, clauses: list[str], names: tuple[str, ...]) -> Support:
    """The best that any clause with the word says of it."""
    best: Support = "unsaid"
    order: list[Support] = ["unsaid", "others", "denied", "uncertain", "said"]
    for clause in clauses:
        there = [_NUMBERS.get(other, other) for other in words(clause)]
        if not any(alike(_NUMBERS.get(word, word), other) for other in there):
            continue
        verdict = _in_clause(word, fact, clause, names)
        if order.index(verdict) > order.index(best):
            best = verdict
    return best


def _in_clause(word: str, fact: str, clause: str, names: tuple[str, ...]) -> Support:
    if _is_about_others(clause, word, fact, names):
        return "others"
    negative_fact = bool(_NEGATIVE_FACT.search(fact))
    for pattern in _OLD_NEW:
        match = pattern.search(clause)
        if match and _holds(match["old"], word) and not _holds(match["new"], word):
            return "said" if _PAST_OF_FACT.search(fact) else "denied"
        if match and _holds(match["new"], word):
            return "denied" if negative_fact and not _PAST_OF_FACT.search(fact) else "said"
        if match and not match["new"]:
            clause = clause[: match.start()] + clause[match.end() :]
    if clause.rstrip().endswith("?") and not _FIRST_PERSON.search(clause):
        return "uncertain"
    if _UNSURE.search(clause) and not _OWN_PLANS.search(fact):
        return "uncertain"
    if bool(_DENIES.search(clause)) != negative_fact and not _harmless(clause, fact):
        return "denied"
    return "said"


def _harmless(clause: str, fact: str) -> bool:
    """A negation that the clause has and that is no denial of the fact: ``not only``, ``why not``, or one that stands in the fact."""
    rest = re.sub(r"\bnot only\b|\bwhy not\b|\bno problem\b|\bno doubt\b|\bno way\b|\b\d+ years? old\b|\byears? old\b|\bold (?=\w)", " ", clause, flags=re.IGNORECASE)
    if not _DENIES.search(rest):
        return not _NEGATIVE_FACT.search(fact)
    return False


def _holds(text: str, word: str) -> bool:
    return any(alike(word, other) for other in words(text))


def _is_about_others(clause: str, word: str, fact: str, names: tuple[str, ...]) -> bool:
    own = {fold(name).casefold() for name in names}
    about = _ABOUT_OTHERS.search(clause)
    named = _NAMED.search(clause)
    if named and (
        fold(named["name"]).casefold() in own | _NO_NAMES
        or named["name"].lower() in FUNCTION_WORDS
        or alike(word, named["name"].casefold())  # what is claimed, not who: "Lima is home now"
    ):
        named = None
    if not about and not named:
        return False
    if about and re.search(rf"\b{_RELATION}\b", fact, re.IGNORECASE):
        return False  # what the fact says of them is looked at elsewhere
    start = about.start() if about else 0
    return not _FIRST_PERSON.search(clause[: start + 1] if start else "") or bool(named)


def _is_specific(word: str, fact: str, names: tuple[str, ...]) -> bool:
    """A name or a number: what no paraphrase brings in."""
    if any(char.isdigit() for char in word):
        return True
    plain = without_subject(fact, names)
    capitals = re.findall(r"(?<=[^.!?]\s)[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+", plain)
    return any(fold(word) == fold(one).casefold() for one in capitals)


def is_about_somebody_else(fact: str, names: Iterable[str] = (), message: str = "") -> bool:
    """Whether the fact's subject is not the member: ``Bob lives in Rome``, ``Her sister is a doctor``.

    A word that the message has in small letters is no name: ``Instrument is a violin``.
    """
    plain = without_subject(fact, names)
    if re.match(rf"^\W*(?:(?:my|his|her|their|the|a|an|mi|su|sus|un|una)\s+)?(?:\w+\s+)?{_RELATION}\b(?!\s+of\b)", plain, re.IGNORECASE):
        return not re.match(rf"^\W*(?:has|have|tiene|is|es)\b", plain, re.IGNORECASE)
    named = _NAMED.match(plain)
    if not named or fold(named["name"]).casefold() in _NO_NAMES or named["name"].lower() in _VERBS:
        return False
    return not re.search(rf"\b{re.escape(named['name'].lower())}\b", message)


def tells_of_others(fact: str) -> bool:
    """Whether a fact about the member says more of somebody else than that there is such a person."""
    match = re.search(rf"\b{_RELATION}\b(?P<rest>.*)", fact, re.IGNORECASE)
    return bool(match and content_words(re.sub(r"\b(?:in common|together)\b", "", match["rest"])))


_VERBS = frozenset(
    """
    lives works likes loves hates is was has had moved studies prefers enjoys plays uses speaks owns wants plans knows drives rides
    reads writes name pronouns favorite favourite timezone age birthday job employer home house car phone pet dog cat hobby language
    vive trabaja tiene es odia prefiere nombre edad habla juega quiere email company team school university major degree title
    """.split()
)
