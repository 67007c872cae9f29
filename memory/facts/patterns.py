"""The patterns that say which side of a member a fact is about (English and Spanish, some German, French and Portuguese)."""

from __future__ import annotations

import re

from memory.facts.text import word_set

LANGUAGES = (
    r"english|spanish|french|german|italian|portuguese|japanese|chinese|mandarin|korean|russian|arabic|dutch|polish|turkish|hindi|catalan|quechua|"
    r"inglés|ingles|español|espanol|castellano|francés|frances|alemán|aleman|italiano|portugués|portugues|japonés|chino|ruso|catalán"
)
_NOT_JOBS = "gam|own|memb|play|lov|hik|read|numb|lead|follow|night|moth|fath|broth|sist|begin|support|swimm|runn|sing|danc|neighb"
_OCCUPATIONS = (
    r"nurse|doctor|chef|cook|pilot|clerk|lawyer|judge|architect|accountant|student|\w*maker|\w*smith|guard|librarian|mechanic|"
    r"electrician|technician|musician|politician|\w{2,}(?:ist|eer)|"
    rf"(?!{_NOT_JOBS})\w{{2,}}(?:er|or)|"
    r"enfermer[oa]|médic[oa]|abogad[oa]|profesor[ae]?|maestr[oa]|cociner[oa]|panader[oa]|ingenier[oa]"
)
_SPECIES = r"dogs?|cats?|parrots?|birds?|rabbits?|hamsters?|fish|turtles?|tortoises?|horses?|snakes?|lizards?|pupp(?:y|ies)|kittens?|perr[oa]s?|gat[oa]s?|loros?|conejos?|caballos?|tortugas?"
SPECIES_NAMES = {
    "perro": "dog", "perra": "dog", "puppy": "dog", "puppie": "dog", "gato": "cat", "gata": "cat", "kitten": "cat",
    "conejo": "rabbit", "loro": "parrot", "caballo": "horse", "tortuga": "turtle",
}  # fmt: skip
_NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|un|una|uno|dos|tres|cuatro|cinco"
SINGULAR = word_set(
    """
    timezone time zone home country hometown city town job employer profession occupation boss birthday height shoe size
    school university college major degree team car bike motorcycle phone laptop computer editor browser operating system
    os keyboard username handle nickname instrument address email zona horaria ciudad país trabajo cumpleaños coche carro
    teléfono universidad colegio equipo
    """
)

_P = re.compile
_NOW = r"(?:now |currently |ahora |actualmente |back |still |just |recently |happily )*"
RULES: tuple[tuple[str, re.Pattern[str], bool, bool], ...] = (
    # kind, pattern with <v> (and <k> where the kind has a name), one value at a time, spelled exactly
    ("home", _P(rf"\b(?:lives?|living|lived|resid(?:es?|ing|ed)|based|settled|mov(?:ed|es|ing)|relocat(?:ed|es|ing)|vive|vivía|reside|mudó|mudado|wohnt|lebt|habite|vit|mora)\b (?:{_NOW})(?:from .+? )?{_NOW}(?:in|to|at|near|en|a|nach|à|em)\s+(?:the (?:city|town) of )?(?P<v>.+)", re.I), True, False),
    ("home", _P(r"^(?:new |current |nuev[oa] )?(?:home(?: city| town)?|house|flat|apartment|city|residence|casa|ciudad)\b.*? (?:is|es|está)(?: now)?(?: in| en)?\s+(?P<v>.+)", re.I), True, False),
    ("origin", _P(r"^(?:is |are |comes? |originally |es |viene )*(?:from|de)\s+(?P<v>[A-ZÁÉÍÓÚ].+)"), False, False),
    ("job", _P(rf"\b(?:works?|working|worked|employed|hired|trabaja|trabajó|arbeitet)\b {_NOW}(?:as|como|de|als)\s+(?P<v>.+)", re.I), True, False),
    ("job", _P(r"\b(?:job(?: title)?|profession|occupation|career|profesión|ocupación|oficio|trabajo)\b (?:is|es)(?: now)?(?: as| being)?\s+(?P<v>.+)", re.I), True, False),
    ("job", _P(r"\b(?:became|promoted to|retrained as|qualified as|started as|se hizo)\s+(?P<v>.+)", re.I), True, False),
    ("job", _P(rf"^(?:is |es |ist |works )?(?:now )?(?:an?|un|una|the|ein|eine)\s+(?P<v>(?:[\w-]+ ){{0,3}}?(?:{_OCCUPATIONS}))(?=\s*(?:$|[.,;]|(?:at|for|in|with|en|de|by|since|on|who)\b))", re.I), True, False),
    ("employer", _P(r"\b(?:works?|working|worked|employed|job|hired|trabaja|trabajó|arbeitet)\b.*? (?:at|for|by|para|bei)\s+(?!home\b|night\b|himself\b|herself\b|themselves\b)(?P<v>.+)", re.I), True, False),
    ("employer", _P(r"\b(?:employer|company|workplace|empresa)\b (?:is|es)(?: now)?\s+(?P<v>.+)", re.I), True, False),
    ("employer", _P(r"^(?:has )?(?:joined|se unió a)\s+(?P<v>[A-ZÁÉÍÓÚ].+)"), True, False),
    ("workplace", _P(r"\b(?:works?|working|worked|trabaja)\b (?:now |currently )?(?:in|en|on)\s+(?P<v>.+)", re.I), False, False),
    ("nickname", _P(r"^(?:usually |now )?(?:goes by|(?:likes|prefers|wants|asks)(?: people)? to be called|prefers the name|nickname is|preferred name is|apodo es|le dicen|known as)\s+(?:the name )?(?P<v>.+)", re.I), True, True),
    ("name", _P(r"^(?:(?:first|full|real|legal|correct|actual) )?(?:name|nombre)(?: \w+)?? (?:is|es|was corrected to|has been corrected to|changed to|spelled|is spelled)(?: actually| now| spelled| really)?\s+(?P<v>.+)", re.I), True, True),
    ("name", _P(r"^(?:is |was )?(?:called|named|se llama|heißt|s'appelle|spells (?:the|their|his|her) name(?: as)?)\s+(?P<v>.+)", re.I), True, True),
    ("pronouns", _P(r"\bpronouns?\b.*?(?:are|is|:|=)\s*(?P<v>.+)", re.I), True, True),
    ("pronouns", _P(r"^(?:uses?|goes by|prefers|using|usa)\s+(?P<v>(?:\w+\s*/\s*)+\w+)", re.I), True, True),
    ("pronouns", _P(r"^(?:uses?|prefers)\s+(?P<v>[\w/ ]+?)\s+pronouns", re.I), True, True),
    ("age", _P(r"\b(?P<v>\d{1,3})[ -]?(?:years?[ -]old|years of age|años|yo\b|ans\b|jahre)", re.I), True, True),
    ("age", _P(r"\b(?:age is|aged?|turned|cumplió|edad es)\s+(?P<v>\d{1,3})\b", re.I), True, True),
    ("birthday", _P(r"\b(?:birthday|birth date|date of birth|cumpleaños)\b.*?(?:is|on|es|:)(?: on| el)?\s+(?P<v>.+)", re.I), True, True),
    ("birthday", _P(r"\b(?:was born on|born on|nació el)\s+(?P<v>.+)", re.I), True, True),
    ("language", _P(rf"\bpre(?:fers?|fiere)\b(?: \w+){{0,5}}? (?P<v>{LANGUAGES})\b", re.I), True, False),
    ("status", _P(r"^(?:is|got|está|es|recently)?\s*(?:now |recently |newly )?(?P<v>single|married|divorced|engaged|widowed|separated|solter[oa]|casad[oa]|divorciad[oa]|viud[oa])\b", re.I), True, False),
    ("diet", _P(r"^(?:is|became|es|eats|follows)?\s*(?:an? |un |una )?(?:strict |mostly )?(?P<v>vegan|vegetarian|pescatarian|omnivore|vegan[oa]|vegetarian[oa]|omnívor[oa])\b", re.I), True, False),
    ("favourite", _P(r"\bfavou?rite (?P<k>[\w ]+?) (?:is|are)(?: now)?\s+(?P<v>.+)", re.I), True, False),
    ("favourite", _P(r"^(?P<k>[\wáéíóúñ ]+?) (?:favorit[oa]s?|preferid[oa]s?) (?:es|son)(?: ahora)?\s+(?P<v>.+)", re.I), True, False),
    ("pet", _P(rf"\b(?:has|have|owns?|got|adopted|keeps?|tiene|adoptó)\b (?:an? |the |no |any |{_NUMBER_WORDS} |\d+ )?(?:\w+ )?(?P<k>{_SPECIES})\b(?:\s*,?\s*(?:named|called|whose name is|llamad[oa]s?|que se llaman?|names? is)\s+(?P<v>.+))?", re.I), False, True),
    ("pet", _P(rf"^(?P<k>{_SPECIES})(?:'s|’s)?\b(?: name)?(?: is| es)?(?: now)?(?: called| named)?\s+(?P<v>.+)", re.I), False, True),
    ("school", _P(r"\b(?:stud(?:ies|ying)|attends?|enrolled)\b(?: .+?)? (?:at|en)\s+(?P<v>.+)", re.I), True, False),
    ("school", _P(r"\battends\s+(?P<v>.+)", re.I), True, False),
    ("studies", _P(r"\b(?:stud(?:ies|ying)|estudia|majors? in)\s+(?P<v>.+)", re.I), False, False),
)  # fmt: skip
