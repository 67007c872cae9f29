"""Months, days of the week and words of time in the sixteen languages of the built-in embedder."""

from __future__ import annotations

# One line a language (English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Turkish, Arabic, Thai); forms
# of one month are parted by a slash.
_MONTHS = """
january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep october/oct november/nov december/dec
januar/jänner februar/feber märz april mai juni juli august september oktober/okt november dezember/dez
janvier/janv février/févr mars avril mai juin juillet/juil août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
styczeń/stycznia/styczniu luty/lutego/lutym marzec/marca/marcu kwiecień/kwietnia/kwietniu maj/maja/maju czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu wrzesień/września/wrześniu październik/października/październiku listopad/listopada/listopadzie grudzień/grudnia/grudniu
январь/января/январе февраль/февраля/феврале март/марта/марте апрель/апреля/апреле май/мая/мае июнь/июня/июне июль/июля/июле август/августа/августе сентябрь/сентября/сентябре октябрь/октября/октябре ноябрь/ноября/ноябре декабрь/декабря/декабре
ocak/ocakta şubat/şubatta mart/martta nisan/nisanda mayıs/mayısta haziran/haziranda temmuz/temmuzda ağustos/ağustosta eylül/eylülde ekim/ekimde kasım/kasımda aralık/aralıkta
يناير فبراير مارس أبريل/إبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม
"""
_WEEKDAYS = """
monday/mondays tuesday/tuesdays wednesday/wednesdays thursday/thursdays friday/fridays saturday/saturdays sunday/sundays
montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
lunedì martedì mercoledì giovedì venerdì sabato domenica
segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
poniedziałek wtorek środa/środę czwartek piątek sobota/sobotę niedziela/niedzielę
понедельник вторник среда/среду четверг пятница/пятницу суббота/субботу воскресенье
pazartesi salı çarşamba perşembe cuma cumartesi pazar
الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد
วันจันทร์ วันอังคาร วันพุธ วันพฤหัสบดี วันศุกร์ วันเสาร์ วันอาทิตย์
星期一/周一/週一/月曜日/月曜/월요일 星期二/周二/週二/火曜日/火曜/화요일 星期三/周三/週三/水曜日/水曜/수요일 星期四/周四/週四/木曜日/木曜/목요일 星期五/周五/週五/金曜日/金曜/금요일 星期六/周六/週六/土曜日/土曜/토요일 星期日/星期天/周日/週日/日曜日/日曜/일요일
"""


def _numbered(table: str, first: int) -> dict[str, int]:
    return {
        form: number
        for line in table.strip().splitlines()
        for number, forms in enumerate(line.split(), first)
        for form in forms.split("/")
    }


MONTHS = _numbered(_MONTHS, 1)
WEEKDAYS = _numbered(_WEEKDAYS, 0)
"""By ``date.weekday``: Monday is 0."""
_MONTHS_AND_WORDS = """
may march mars mai mayo mei mart marzo maj maja maju май мая jan feb mar apr jun jul aug sep sept oct okt nov dec dez
"""
MONTHS_AND_WORDS = frozenset(_MONTHS_AND_WORDS.split())
"""Names of months that are words or short forms as well."""


def _phrases(table: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in table.replace("\n", "/").split("/") if phrase.strip())


YESTERDAY = _phrases("yesterday/gestern/ayer/ieri/ontem/gisteren/wczoraj/вчера/dün/أمس/เมื่อวาน/昨天/昨日/어제")
TODAY = _phrases(
    """
today/this morning/heute/aujourd'hui/hoy/oggi/hoje/vandaag/dzisiaj/dziś/сегодня/bugün/اليوم/วันนี้/今天/今日/오늘
"""
)
LAST_WEEK = _phrases(
    """
last week/letzte woche/vorige woche/semaine dernière/semaine passée/semana pasada/settimana scorsa/semana passada
vorige week/afgelopen week/zeszłym tygodniu/прошлой неделе/geçen hafta/الأسبوع الماضي/สัปดาห์ที่แล้ว/上周/上週/上星期/先週
지난주/지난 주
"""
)
LAST_MONTH = _phrases(
    """
last month/letzten monat/vorigen monat/mois dernier/mois passé/mes pasado/mese scorso/mês passado/vorige maand
afgelopen maand/zeszłym miesiącu/прошлом месяце/geçen ay/الشهر الماضي/เดือนที่แล้ว/上个月/上個月/先月/지난달/지난 달
"""
)
THIS_MONTH = _phrases(
    """
this month/diesen monat/ce mois/este mes/questo mese/este mês/deze maand/tym miesiącu/этом месяце/bu ay/هذا الشهر
เดือนนี้/这个月/這個月/今月/이번 달/이번달
"""
)
NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein einem einer eine un une una um uma een jeden один bir 一",
            "two couple zwei deux dos due dois duas twee dwa два две iki 两 二 兩",
            "three drei trois tres tre três drie trzy три üç 三",
            "four vier quatre cuatro quattro quatro cztery четыре dört 四",
            "five fünf cinq cinco cinque vijf pięć пять beş 五",
            "six sechs six seis sei zes sześć шесть altı 六",
        ),
        1,
    )
    for word in words.split()
}
UNITS = {
    unit: days
    for days, units in (
        (
            1,
            "day/days/tag/tage/tagen/jour/jours/día/días/giorno/giorni/dia/dias/dag/dagen/dzień/dni/день/дня/дней/gün/天/日/일",
        ),
        (
            7,
            "week/weeks/woche/wochen/semaine/semaines/semana/semanas/settimana/settimane/weken/tydzień/tygodnie/tygodni/"
            "неделю/недели/недель/hafta/周/週/个星期/週間/주",
        ),
        (
            30,
            "month/months/monat/monate/monaten/mois/mes/meses/mese/mesi/mês/maand/maanden/miesiąc/miesiące/miesięcy/"
            "месяц/месяца/месяцев/ay/个月/個月/ヶ月/か月/달/개월",
        ),
    )
    for unit in units.split("/")
}
AGO_BEFORE = ("vor", "il y a", "hace", "há")
AGO_AFTER = ("ago", "fa", "atrás", "geleden", "temu", "назад", "önce", "前", "전", "ที่แล้ว")
