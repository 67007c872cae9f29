"""Words of what a fact should not be about, and of what is an instruction rather than a fact.

Word lists are crude, and meant to be: what they are sure of is not stored, what they are not sure of waits for a person. English
and Spanish in full, the commonest words in German, French and Portuguese.
"""

from __future__ import annotations

import re

from memory.facts.text import clean, fold, word_set

_SURE = {
    "health": r"""
        diagnos\w*|cancer\w*|tumou?rs?|tumor(?:es)?|leuk(?:a)?emia|leucemia|lymphoma|linfoma|chemo(?:therapy)?|quimio(?:terapia)?|hiv|vih|aids|sida|
        diabet\w*|insulin\w*|depressi(?:on|ve)|depresi(?:on|vo|va)|bipolar|schizo\w*|esquizo\w*|psychosis|psicosis|adhd|tdah|autis\w*|asperger\w*|
        epilep\w*|asthma\w*|asma|hepatitis|lupus|arthritis|artritis|fibromyalgia|fibromialgia|sclerosis|esclerosis|crohn\w*|celiac|coeliac|celiac[oa]|
        anxiety disorder|trastorno|disorder|syndrome|sindrome|disease|enfermedad|illness|antidepress\w*|antidepresiv\w*|prozac|xanax|sertraline|
        sertralina|ritalin|adderall|lithium therapy|medicat\w*|medicamento\w*|medicacion|prescri\w+ (?:for|drug)|pregnan\w*|embaraz\w*|miscarr\w*|
        abort\w*|infertil\w*|suicid\w*|self[- ]?harm\w*|autolesi\w*|anorexi\w*|bulimi\w*|ptsd|tept|ocd|toc|dementia|demencia|alzheimer\w*|
        parkinson\w*|rehab|rehabilitacion|addict\w*|adict[oa]|alcoholic\w*|alcoholic[oa]|overdos\w*|sobredosis|chronic pain|dolor cronico|
        surgery|cirugia|biopsy|biopsia|psychiatric|psiquiatric[oa]|in therapy|en terapia|(?:sees|seeing|has|visits) an? (?:therapist|psychiatrist|psychologist|oncologist|cardiologist)|
        (?:ve|visita) a (?:un|una|su) (?:psiquiatra|psicolog[oa]|terapeuta)|std|sti|herpes|covid\w*|krebs|krank\w*|schwanger\w*|maladie|enceinte|gravida|doenca|
        blood (?:type|pressure|sugar)|grupo sanguineo|disabled|disability|discapacid\w*|wheelchair|silla de ruedas""",
    "sexuality": r"""
        gay|lesbian\w*|lesbiana|bisexual\w*|pansexual|asexual|homosexual\w*|heterosexual\w*|transgender\w*|transexual\w*|transsexual\w*|transgenero|queer|
        sexual (?:orientation|preference)|orientacion sexual|sex life|vida sexual|schwul|lesbisch""",
    "religion": r"""
        muslim\w*|musulman\w*|islam\w*|catholic\w*|catolic[oa]s?|protestant\w*|protestante|jewish|jews?|judaism|judi[oa]s?|hindu\w*|buddhis\w*|budist\w*|
        atheis\w*|ate[oa]|ateismo|agnostic\w*|mormon\w*|evangelic\w*|sikh\w*|jehovah\w*|religion|religious|religios[oa]|converted to|practi[cs]ing christian|
        (?:is|es) (?:a |un |una )?(?:devout |born-again )?(?:christian|cristian[oa])|christianity|cristianismo|baptist|bautista""",
    "politics": r"""
        republican|democrat|socialist\w*|socialista|communis\w*|comunista|anarchis\w*|anarquista|fascis\w*|far[- ](?:right|left)|(?:left|right)[- ]wing\w*|
        extrema (?:derecha|izquierda)|de (?:derechas|izquierdas)|political (?:views?|party|opinion\w*|affiliation)|ideologia|partido politico|
        vot(?:es?|ed|ing) (?:for|against)|vot[oa] (?:a|por)|votara|votante|voter|maga|trade union|union member|sindicato|sindicalista|
        (?:is|es) (?:an? |un[a]? |very |muy )?(?:conservative|liberal|conservador|conservadora)|political""",
    "origin": r"ethnic\w*|etnia|etnic[oa]|race is|raza|skin colou?r|color de piel|undocumented|indocumentad[oa]",
    "crime": r"criminal record|antecedentes penales|convicted|condenad[oa]|in prison|en prision|felony|on probation|libertad condicional",
}
_UNSURE = {
    "health": r"""
        allerg\w*|alergi\w*|alergic[oa]|intoleran\w*|sick|enferm[oa]|ill|anxiety|ansiedad|depressed|deprimid[oa]|pain|dolor|injur\w*|lesion\w*|pills?|
        pastillas?|dos(?:e|is)|therapy|terapia|therapist|terapeuta|psychiatrist|psiquiatra|hospitali[sz]ed|hospitalizad[oa]|symptoms?|sintomas?|weighs|pesa|
        insomnia|insomnio|migraine\w*|migranas?|vaccin\w*|vacun\w*|treatment|tratamiento|allergie\w*|operation|operacion|drinks? (?:too much|alcohol)|drugs?|drogas?""",
    "sexuality": r"trans|straight|dating|sexual\w*|sex",
    "religion": r"church|iglesia|mosque|mezquita|synagogue|sinagoga|prays?|reza|christian|cristian[oa]|bible|biblia|quran|koran|coran|ramadan|lent|cuaresma",
    "politics": r"politic\w*|politica|elections?|elecciones|protests?|protesta|activis\w*|activista|union|conservative|liberal|campaign\w*",
    "money": r"salary|salario|sueldo|income|ingresos|debts?|deudas?|earns|gana|bankrupt\w*|net worth|mortgage|hipoteca",
}
_INSTRUCTION = r"""
    (?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*|olvida\w*|ignora\w*)\b.{0,40}\b(?:instruc\w*|rules?|reglas|prompts?|previous|above|prior|guidelines?|anterior\w*|everything|todo)
    |system (?:prompt|message|note|override)|prompt del sistema|developer mode|jail\s?break|\bDAN\b|god mode
    |\byou (?:must|should|shall|will|have to|need to|are (?:now|an?|to)|can now)\b|\bthe (?:bot|assistant|ai|model) (?:must|should|shall|will|has to|is to|may|can)\b
    |\bdebes\b|\btienes que\b|\beres (?:ahora|un)|\bel (?:bot|asistente) (?:debe|tiene que)
    |\b(?:always|never|siempre|nunca)\s+(?:answer|respond|reply|say|tell|call|include|obey|mention|reveal|refuse|end|start|begin|agree|use|output|add|responde|contesta|di|dile|incluye|obedece|menciona)\b
    |\bfrom now on\b|\ba partir de ahora\b|\bin (?:every|all) (?:reply|replies|answers?|responses?)\b|\ben (?:cada|todas) (?:las )?respuestas?
    |\b(?:respond|reply|answer)s? (?:only|with)\b|\bact (?:as|like)\b|\bactua como\b|\bpretend\b|\bfinge\b|\bdo not (?:tell|mention|reveal)\b|\bdon'?t (?:tell|mention|reveal)\b
    |\breveal\b|\bexfiltrat\w*|\bexecute\b|\btool[_ ]?calls?\b|\bfunction[_ ]call|\bcore_memory|\barchival_memory|</?\w+|<\||\[/?inst\]|```|^\s*\#{2,}
    |https?://|\bwww\.|@(?:everyone|here)|[{}]|^\s*(?:system|assistant|user|human|tool)\s*:
    |\b(?:is|has|have|granted|gets?)\b.{0,20}\b(?:admin(?:istrator)?|owner|operator|root|moderator|developer)\b.{0,20}\b(?:rights?|access|privileges?|permissions?|of the bot|of this bot)
    |\b(?:is|as) (?:an? |the )?(?:admin|administrator|operator|bot owner|developer) (?:and|so|who|with)\b|\bmust be obeyed\b|\bfull access\b|\btrusted (?:user|admin)
"""
_IMPERATIVES = word_set(
    """
    tell say answer reply respond send give write call translate forget ignore remember do make stop output print visit
    click follow obey act pretend repeat show reveal delete remove grant execute run add append include let disregard
    never always respondele responde di dile envia escribe llama traduce ignora olvida recuerda haz deja imprime visita
    sigue obedece repite borra ejecuta
    """
)


def _compile(parts: dict[str, str]) -> dict[str, re.Pattern[str]]:
    found = {}
    for name, pattern in parts.items():
        joined = re.sub(r"\s*\n\s*", "", pattern.strip())
        found[name] = re.compile(rf"(?<!\w)(?:{joined})(?!\w)", re.IGNORECASE)
    return found


SURE, UNSURE = _compile(_SURE), _compile(_UNSURE)
INSTRUCTION = re.compile(re.sub(r"\s*\n\s*", "", _INSTRUCTION.strip()), re.IGNORECASE)
_GIVES_AWAY = re.compile(
    r"(?:diagnosed with|diagnosed as|suffer(?:s|ing)? from|treated for|treatment for|taking|tested positive for|recovering from|"
    r"diagnosticaron(?: con)?|diagnosticad[oa] con|padezco(?: de)?|sufro de|tratamiento (?:para|contra))\s+(?P<what>[^.,;!?\n]+)",
    re.IGNORECASE,
)


_WHEN = re.compile(r"\b(?:last|this|in|at|since|when|and|while|two|en|desde|hace|cuando|y)\b", re.IGNORECASE)


def find_sensitive(text: str) -> str:
    """``health``, ``sexuality``, ``religion``, ``politics``, ``origin`` or ``crime`` where a fact is surely about that, or empty."""
    return _first(SURE, text)


def find_maybe_sensitive(text: str) -> str:
    """The same, and ``money``, where it may be."""
    return _first(UNSURE, text)


def is_instruction(text: str) -> bool:
    """Whether the text tells the bot to do something, or looks like markup or a call of a tool."""
    plain = fold(clean(text))
    if INSTRUCTION.search(plain):
        return True
    first = re.match(r"\W*(?:please\s+|por favor,?\s+)?(\w+)", plain.lower())
    return bool(first and first[1] in _IMPERATIVES)


def given_away(text: str) -> set[str]:
    """Words that a message names as a diagnosis or a treatment, whatever they are."""
    found: set[str] = set()
    for match in _GIVES_AWAY.finditer(fold(clean(text))):
        found.update(word.casefold() for word in re.findall(r"\w{4,}", _WHEN.split(match["what"])[0])[:3])
    return found


def _first(patterns: dict[str, re.Pattern[str]], text: str) -> str:
    plain = fold(clean(text))
    return next((name for name, pattern in patterns.items() if pattern.search(plain)), "")
