"""Words that tell names from words: what a question says without meaning anybody."""

from __future__ import annotations

_FIRST = """
i im ive my me mine myself ich mich mir mein meine meinem meinen meiner meines je j moi mon mes yo mi mis eu meu minha
meus minhas io mio mia miei mie ik mijn ja mój moja mnie я мне меня мой моя моё мои ben benim 我 私 僕 俺
"""
FIRST_PERSON = frozenset(_FIRST.split())
_SECOND = """
you your yours yourself youre u ur du dich dir dein deine deinen deiner euch euer tu toi te ton ta tes vous votre vos ti
tuo tua você vocês seu sua jij je jouw jullie ty ciebie twój ты тебя тебе твой вы вас ваш sen senin 你 你们 あなた
"""
SECOND_PERSON = frozenset(_SECOND.split())
# Names that are words as well: only with a capital letter inside a sentence, or with 's.
_NAMES = """
april art august autumn bill bob chase dawn dean don drew faith frank grace grant guy harmony hope hunter ivy jack jade
joy june mark mason max may mercy miles misty nick olive pat pearl pierce ray rich river rob robin rock rose ruby rusty
sky skip star storm sue summer sunny ted trinity violet wade ward will willow winter
"""
NAMES_AND_WORDS = frozenset(_NAMES.split())
# Words of questions that are one letter away from some name.
_ORDINARY = """
after again always another anything around away back because been before being best better between birthday book books
both bought brought called came can cannot car cat change children city close come coming could country date day days
decide different dinner does doing done during each early else enough even ever every family famous far favorite
favourite feel felt few find first food found friend friends from game games gave gets getting give given going gone
good got great group happen happened hard have having hear heard help here high hobby home house idea into issue job
just keep kind knew know last late later learn least leave left less life like likes line list little live lived lives
local long look lost love lot made main make makes making many married maybe mean meet meeting mention mentioned met
might month months more morning most mother move moved movie much music must name names near need never new next nice
night nothing now number off often old once one only open other outside over own party past pay people person pet pets
pick place plan planned plans play plays problem put quite read real really reason recent recently right said same saw
say says school see seen sent set several she should show side since sister small some someone something song soon sort
spend start started still stop story stuff such suggest sure take taken talk talking team tell than thank that the their
them then these they thing things think this those thought time times today together told took town trip tried try
trying turn type under until use used using very visit want wanted wants was watch water way week weekend weeks well
went were what when where which while who whole whom whose why wife will win with within won word work worked working
works world would write year years yes yet you your
"""
COMMON = frozenset(_ORDINARY.split())
