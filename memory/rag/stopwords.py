"""Words that say nothing of a question's subject, in the languages that the built-in embedder speaks best."""

from __future__ import annotations

from memory.index.terms import STOP_WORDS

_OTHERS = """
de la el los las un una y o que en es por para con se no al lo su me mi te tu si del como más pero sus le ya este esta sí porque
cuando muy sin sobre también hay qué cuál cuánto cuántos cuántas cuánta cómo dónde quién puedo hasta desde soy está son ser tiene
nos les des du une et ou est il elle on nous vous ils qui ne pas plus ce cette ces dans avec sur au aux je ma mes son sa ses comment
quelle quelles quel combien faut der die das ein eine einer und oder ist sind nicht zu mit von auf für im den dem wie wann wer wo ich
du er sie wir man kann muss bei aus dass os as uma do da dos das em na nas com não para é eu meu minha quando qual quais quanto
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня о из ему какой какая сколько
где когда في من على عن إلى ما هو هي هل مع هذا هذه ذلك التي الذي أن لا ماذا كيف متى أين
"""
ALL = frozenset(STOP_WORDS) | frozenset(_OTHERS.split())
