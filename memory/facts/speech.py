"""How people say, deny, wish and quote things: the patterns that reading a message for a claim needs."""

from __future__ import annotations

import re

from memory.facts.text import word_set

QUOTE = re.compile(r"^\s*>.*$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
CLAUSE = re.compile(
    r"[.!;:\n…]+(?:\s|$)|(?<=\?)|,\s*|\s[-–—]+\s|\b(?:but|however|although|though|whereas|while|and then|and now|and i|and my|instead|pero|aunque|sino|mientras que|"
    r"y ahora|y yo|y mi)\b",
    re.IGNORECASE,
)
DENIES = re.compile(
    r"\b(?:not|n['’]?t|never|no longer|dont|doesnt|isnt|cant|wont|didnt|hate|hates|dislike|detest|used to|quit|left|leaving|stopped|gave up|sold|lost|"
    r"resigned|fired|instead of|rather than|former|formerly|previous|previously|old|ex|no|ya no|nunca|tampoco|odio|dejé|deje|renuncié|antes|solía|nicht|kein\w*|pas|não)\b|n['’]t\b",
    re.IGNORECASE,
)
UNSURE = re.compile(
    r"\b(?:if|wish|would|could|might|maybe|perhaps|want to|wanna|hope to|hoping to|plan to|planning to|thinking (?:of|about)|considering|dream(?:ing)? of|imagine|pretend|someday|"
    r"one day|joking|jk|kidding|supposedly|say (?:that )?i|si|ojalá|quisiera|quiero|quizás?|tal vez|pienso|imagina|finge|broma)\b",
    re.IGNORECASE,
)
OWN_PLANS = re.compile(
    r"\b(?:wants?|plans?|hopes?|dreams?|wish(?:es)?|would|considering|thinking|might|may|quiere|planea|sueña|espera)\b",
    re.IGNORECASE,
)
FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]?m|i['’]?ve|i['’]?ll|im|ive|me|mine|myself|we|we['’]?re|yo|soy|estoy|tengo|vivo|trabajo|me|nos|ich|je|j['’]|eu)\b",
    re.IGNORECASE,
)
RELATION = (
    r"(?:sister|brother|mother|mom|mum|father|dad|parents?|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|kids?|child(?:ren)?|baby|"
    r"aunt|uncle|cousin|niece|nephew|grand(?:ma|pa|mother|father)|friends?|roommate|flatmate|neighbou?rs?|boss|manager|colleagues?|coworkers?|co-workers?|teacher|"
    r"classmate|ex|landlord|in-laws?|hermanas?|hermanos?|madre|mamá|padre|papá|padres|esposa|esposo|mujer|marido|pareja|novia|novio|hijos?|hijas?|tía|tío|prim[oa]s?|"
    r"abuel[oa]s?|amig[oa]s?|jef[ea]|compañer[oa]s?|vecin[oa]s?|sobrin[oa]s?)"
)
ABOUT_OTHERS = re.compile(
    rf"\b(?:my|our|his|her|their|the|mi|mis|nuestr[oa]s?|su|sus)\s+(?:\w+\s+)?{RELATION}\b|^\W*(?:and\s+|y\s+)?(?:she|he|they|ella|él|ellos|ellas)\b",
    re.IGNORECASE,
)
NAMED = re.compile(
    r"^\W*(?:and |y )?@?(?P<name>[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+)(?:\s+[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+)?\s+(?:also |just |now |still )?(?:lives?|works?|likes?|loves?|hates?|is|was|has|had|moved|"
    r"studies|prefers?|says?|said|told|vive|trabaja|tiene|es|odia|prefiere|dijo|dice|se)\b"
)
NO_NAMES = word_set(
    """
    i it this that there here what who now today yesterday name everyone everybody nobody home work job life yo hoy ayer
    esto eso
    """
)
OLD_NEW = (
    re.compile(r"\bfrom\s+(?P<old>[^,.;]+?)\s+(?:to|into)\s+(?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(
        r"\b(?:mud\w+|cambi\w+)\s+de\s+(?P<old>[^,.;]+?)\s+(?:a|para)\s+(?P<new>[^,.;]+)", re.IGNORECASE
    ),
    re.compile(
        r"\b(?:mov(?:ed|ing)|relocated|back|switched)\s+to\s+(?P<new>[^,.;]+?)\s+from\s+(?P<old>[^,.;]+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<new>[^,.;]*?)\b(?:instead of|rather than|and not|en vez de|en lugar de|y no)\s+(?P<old>[^,.;]+)",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:not|no)\s+(?P<old>[^,.;]+?)\s+(?:but|sino)\s+(?P<new>[^,.;]+)", re.IGNORECASE),
    re.compile(
        r"(?P<new>)\b(?:left|quit|leaving|resigned from|sold|dejé|renuncié a)\s+(?P<old>[^,.;]+?)(?=\s+(?:to|for|and|para|y)\b|[,.;]|$)",
        re.IGNORECASE,
    ),
)
PAST_OF_FACT = re.compile(
    r"\b(?:from|formerly|former|previously|used to|no longer|before|until|not|n.t|never|left|quit|ya no|antes|de|instead|dislikes?|hates?|odia|no|without)\b|n['’]t\b",
    re.IGNORECASE,
)
NEGATIVE_FACT = re.compile(
    r"\b(?:no longer|not|never|doesnt|dont|isnt|cant|without|no|dislikes?|hates?|detests?|stopped|quit|left|used to|former(?:ly)?|previously|ya no|nunca|odia|dejó)\b|n['’]t\b",
    re.IGNORECASE,
)
CUE = re.compile(
    r"\b(?:mov(?:ed|ing)|relocated|now|no longer|not any ?more|anymore|any more|new|actually|correction|correct|used to|changed|switched|quit|left|instead|from now|these days|"
    r"wrong|mistake|sorry|i meant|renamed|turned|finally|started|promoted|got (?:a|the) (?:new )?job|ahora|ya no|nuev[oa]|mud[eéó]\w*|cambi[eéó]\w*|en realidad|me equivoqué|"
    r"corrijo|corrección|perdón|empecé|dejé|renuncié|jetzt|nicht mehr|maintenant)\b|,\s*not\b|\bnot\s+\w+\s*,",
    re.IGNORECASE,
)
NUMBERS = {
    name: str(number)
    for number, names in enumerate(
        [
            "zero",
            "one uno una un",
            "two dos",
            "three tres",
            "four cuatro",
            "five cinco",
            "six seis",
            "seven siete",
            "eight ocho",
            "nine nueve",
            "ten diez",
            "eleven once",
            "twelve doce",
        ]
    )
    for name in names.split()
}


SAYS = {
    "home": r"liv(?:e|es|ing)|moved?|moving|relocat\w*|home|house|flat|apartment|place|resid\w*|based|settled|here in|staying|vivo|vivimos|mud[eéóo]\w*|casa|piso|wohn\w*|habite|moro",
    "name": r"names?|named|called|call me|i['’]?m|i am|im|it['’]?s|its|spel\w+|known as|go(?:es)? by|nombre|llamo|llam[ae]n?|soy|dime|this is|nick\w*|heiße|m['’]appelle",
    "job": r"work\w*|job|hired|employ\w*|i['’]?m|i am|im|as an?|career|shifts?|profession|promoted|became|trabaj\w*|soy|empleo|oficio|still|now|arbeite|bin|suis",
    "employer": r"work\w*|job|hired|employ\w*|join\w*|start\w*|i['’]?m at|shifts?|office|boss|company|trabaj\w*|empleo|empresa|arbeite|travaille",
    "age": r"old|turn(?:ed|ing)?|aged?|birthday|i['’]?m|i am|im|años|cumpl\w*|tengo|ans|jahre",
    "diet": r"i['’]?m|i am|im|eat\w*|diet|vegan\w*|vegetarian\w*|soy|como|became|went|been|no longer",
    "school": r"stud\w*|attend\w*|enrol\w*|school|universit\w*|college|course|degree|class\w*|estudi\w*|universidad",
}
SAYS["nickname"] = SAYS["name"]
CLAIMS_KIND = {
    kind: re.compile(rf"(?<!\w)(?:{words_})(?!\w)", re.IGNORECASE) for kind, words_ in SAYS.items()
}
SOMETHING_ELSE = re.compile(
    r"\b(?:visit\w*|went|been|go|going|trip|travel\w*|fl(?:y|ew|ight)|loved?|likes?|saw|seen?|holidays?|vacations?|shop\w*|buy|bought|eat|ate|drank|read|heard|know|"
    r"watch\w*|play\w*|visit[éeo]\w*|fui|viaj\w*|compr\w*|me gusta)\b",
    re.IGNORECASE,
)
VERBS = word_set(
    """
    lives works likes loves hates is was has had moved studies prefers enjoys plays uses speaks owns wants plans knows
    drives rides reads writes name pronouns favorite favourite timezone age birthday job employer home house car phone pet
    dog cat hobby language vive trabaja tiene es odia prefiere nombre edad habla juega quiere email mail salary number
    instrument school food music band book game song film movie country city town place company team school university
    major degree title
    """
)
