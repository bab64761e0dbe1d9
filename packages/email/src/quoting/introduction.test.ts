import { expect, test } from 'vitest'
import { measureIntroduction } from './introduction.ts'

const quotedLines = ['> Do you want two?']

test.each([
  ['ar', 'على 20.11.2026 09:00، كتب Desk:'],
  ['ar', 'كتب Desk على 20.11.2026 09:00:'],
  ['ast', 'El 20.11.2026 a les 09:00, Desk escribió:'],
  ['ast', "Desk escribió'l 20.11.2026 a les 09:00:"],
  ['be', '20.11.2026 у 09:00 Desk напісаў:'],
  ['be', 'Desk напісаў 20.11.2026 у 09:00:'],
  ['bg', 'На 20.11.2026 в 09:00, Desk написа:'],
  ['bg', 'Desk написа на 20.11.2026 в 09:00:'],
  ['br', "D'an/ar 20.11.2026 09:00 eo bet skrivet gant Desk :"],
  ['ca', 'El 20.11.2026 a les 09:00, Desk ha escrit:'],
  ['ca', 'Desk ha escrit el 20.11.2026 a les 09:00:'],
  ['cak', "Ri 20.11.2026 09:00, Desk xutz'ib'aj:"],
  ['cak', "Desk xutz'ib'aj pa 20.11.2026 09:00:"],
  ['cs', 'Dne 20.11.2026 v 09:00 Desk napsal(a):'],
  ['cs', 'Desk napsal(a) dne 20.11.2026 v 09:00:'],
  ['cy', 'Ar 20.11.2026 09:00, ysgrifennodd Desk:'],
  ['cy', 'Ysgrifennodd Desk ar 20.11.2026 09:00:'],
  ['da', 'Den 20.11.2026 kl. 09:00 skrev Desk:'],
  ['da', 'Desk skrev den 20.11.2026 kl. 09:00:'],
  ['de', 'Am 20.11.2026 um 09:00 schrieb Desk:'],
  ['de', 'Desk schrieb am 20.11.2026 um 09:00:'],
  ['dsb', '20.11.2026 09:00 jo Desk napisał:'],
  ['dsb', 'Desk jo 20.11.2026 09:00 napisał:'],
  ['el', 'Στις 20.11.2026 09:00, ο/η Desk έγραψε:'],
  ['el', 'Ο/Η Desk έγραψε στις 20.11.2026 09:00:'],
  ['en-GB', 'On 20.11.2026 09:00, Desk wrote:'],
  ['en-GB', 'Desk wrote on 20.11.2026 09:00:'],
  ['es-ES', 'El 20.11.2026 a las 09:00, Desk escribió:'],
  ['es-ES', 'Desk escribió el 20.11.2026 a las 09:00:'],
  ['es-MX', 'En 20.11.2026 09:00, Desk escribió:'],
  ['es-MX', 'Desk escribió el 20.11.2026 09:00:'],
  ['et', '20.11.2026 09:00 Desk kirjutas:'],
  ['et', 'Desk kirjutas 20.11.2026 09:00:'],
  ['eu', '20.11.2026 09:00(e)an, Desk igorleak idatzi zuen:'],
  ['eu', 'Desk igorleak 20.11.2026 09:00(e)an idatzi zuen:'],
  ['fi', 'Desk kirjoitti 20.11.2026 klo 09:00:'],
  ['fi', 'Desk kirjoitti 20.11.2026 09:00:'],
  ['fr', 'Le 20.11.2026 à 09:00, Desk a écrit :'],
  ['fr', 'Desk a écrit le 20.11.2026 à 09:00 :'],
  ['fy-NL', 'Op 20.11.2026 om 09:00, skreau Desk:'],
  ['fy-NL', 'Desk skreau op 20.11.2026 om 09:00:'],
  ['ga-IE', 'Ar 20.11.2026 09:00, scríobh Desk:'],
  ['ga-IE', 'Scríobh Desk ar 20.11.2026 09:00:'],
  ['gd', 'Sgrìobh Desk na leanas 20.11.2026 aig 09:00:'],
  ['gl', 'O 20.11.2026 ás 09:00, Desk escribiu:'],
  ['gl', 'Desk escribiu o 20.11.2026 ás 09:00:'],
  ['he', 'נכתב על ידי Desk, ב־20.11.2026 בשעה 09:00:'],
  ['hr', '20.11.2026 u 09:00, Desk piše:'],
  ['hr', 'Desk napisao je 20.11.2026 u 09:00:'],
  ['hsb', '20.11.2026 09:00 Desk napisa:'],
  ['hsb', 'Desk 20.11.2026 09:00 napisa:'],
  ['hu', '20.11.2026 09:00 keltezéssel, Desk írta:'],
  ['hu', 'Desk írta 20.11.2026 09:00 dátummal:'],
  ['hy-AM', '20.11.2026 09:00-ին Deskը գրել է.'],
  ['hy-AM', 'Desk-ը գրել է 20.11.2026 09:00-ին.'],
  ['ia', 'Le 20.11.2026 a 09:00, Desk ha scribite:'],
  ['ia', 'Desk ha scribite le 20.11.2026 a 09:00:'],
  ['id', 'Pada 20.11.2026 09:00, Desk menulis:'],
  ['id', 'Desk menulis di 20.11.2026 09:00:'],
  ['is', 'Þann 20.11.2026 09:00, skrifaði Desk:'],
  ['is', 'Desk skrifaði þann 20.11.2026 09:00:'],
  ['it', 'Il 20.11.2026 09:00, Desk ha scritto:'],
  ['it', 'Desk ha scritto il 20.11.2026 alle 09:00:'],
  ['ka', 'თარიღი 20.11.2026 09:00, Desk წერს:'],
  ['kab', 'Di 20.11.2026 09:00, Desk yura:'],
  ['kab', 'Desk yura  di 20.11.2026 09:00:'],
  ['kk', '20.11.2026 09:00 уақытында, Desk жазған:'],
  ['kk', 'Desk жазған, уақыты 20.11.2026 09:00:'],
  ['km', 'នៅលើ 20.11.2026 09:00, Desk បានសរសេរ៖'],
  ['km', 'Desk បានសរសេរនៅលើ 20.11.2026 09:00 ៖'],
  ['ko', '20.11.2026 09:00에 Desk 이(가) 쓴 글:'],
  ['ko', 'Desk 이(가) 20.11.2026 09:00 에 쓴 글:'],
  ['lt', '20.11.2026 09:00, Desk rašė:'],
  ['lt', 'Desk rašė 20.11.2026 09:00:'],
  ['lv', '20.11.2026 09:00 Desk rakstīja:'],
  ['lv', 'Desk 20.11.2026 09:00 rakstīja:'],
  ['ms', 'Pada 20.11.2026 09:00, Desk membalas:'],
  ['ms', 'Desk membalas pada 20.11.2026 09:00:'],
  ['nb-NO', 'Den 20.11.2026 09:00, skrev Desk:'],
  ['nb-NO', 'Desk skrev den 20.11.2026 09:00:'],
  ['nl', 'Op 20.11.2026 om 09:00 schreef Desk:'],
  ['nl', 'Desk schreef op 20.11.2026 om 09:00:'],
  ['nn-NO', 'Den 20.11.2026 09:00, skreiv Desk:'],
  ['nn-NO', 'Desk skreiv den 20.11.2026 09:00:'],
  ['pl', 'W dniu 20.11.2026 o 09:00, Desk pisze:'],
  ['pt-BR', 'Em 20.11.2026 09:00, Desk escreveu:'],
  ['pt-BR', 'Desk escreveu em 20.11.2026 09:00:'],
  ['pt-PT', 'Às 09:00 de 20.11.2026, Desk escreveu:'],
  ['pt-PT', 'Desk escreveu às 09:00 de 20.11.2026:'],
  ['rm', 'Ils 20.11.2026 a las 09:00 ha Desk scrit:'],
  ['rm', 'Desk ha scrit ils 20.11.2026 a las 09:00:'],
  ['ro', 'La 20.11.2026 09:00, Desk a scris:'],
  ['ro', 'Desk a scris la 20.11.2026 09:00:'],
  ['ru', '20.11.2026 09:00, Desk пишет:'],
  ['ru', 'Desk пишет 20.11.2026 09:00:'],
  ['sk', 'Dňa 20.11.2026 o 09:00 Desk napísal(a):'],
  ['sk', 'Desk napísal(a) dňa 20.11.2026 o 09:00:'],
  ['sl', 'Desk je 20.11.2026 ob 09:00 napisal:'],
  ['sl', 'Desk je 20.11.2026 ob 09:00 napisal:'],
  ['sq', 'Më 20.11.2026, 09:00, Desk shkroi:'],
  ['sq', 'Desk shkroi më 20.11.2026, 09:00:'],
  ['sr', 'Дана 20.11.2026 у 09:00, Desk пише:'],
  ['sv-SE', 'Den 20.11.2026 kl. 09:00, skrev Desk:'],
  ['th', 'เมื่อ 20.11.2026 เวลา 09:00 Desk เขียนว่า:'],
  ['th', 'Desk เขียนเมื่อ 20.11.2026 เวลา 09:00 ว่า:'],
  ['tr', '20.11.2026 09:00 tarihinde Desk yazdı:'],
  ['tr', 'Desk, 20.11.2026 09:00 tarihinde yazdı:'],
  ['uk', '20.11.2026 09:00, Desk:'],
  ['uk', 'Desk пише 20.11.2026 09:00:'],
  ['uz', '20.11.2026 09:00, Desk da yozdi:'],
  ['uz', 'Desk 20.11.2026 09:00da yozdi:'],
  ['vi', 'Vào lúc 09:00 20.11.2026, Desk đã viết:'],
  ['vi', 'Desk đã viết vào lúc 09:00 20.11.2026:'],
  ['zh-CN', '在 20.11.2026 09:00, Desk 写道:'],
  ['zh-CN', 'Desk 写于 20.11.2026 09:00:'],
  ['zh-TW', 'Desk 於 20.11.2026 09:00 寫道:'],
])('measureIntroduction() recognizes the line of Thunderbird in %s: %s', (_language, line) => {
  expect(measureIntroduction([line, ...quotedLines], 0)).toBe(1)
})

test.each([
  ['Tuta', 'Nov 20, 2026, 09:00 by desk@agents.test:'],
  ['Tuta in German', '20. Nov. 2026, 09:00 von desk@agents.test:'],
  ['Tuta in French', '20 nov. 2026, 09:00 de desk@agents.test:'],
  ['Gmail in Finnish', 'pe 20. marrask. 2026 klo 9.00 Desk (desk@agents.test) kirjoitti:'],
  [
    'Gmail in Hebrew, with marks of direction',
    '\u200fבתאריך יום ו׳, 20 בנוב׳ 2026 ב-9:00 מאת \u2068Desk\u2069 <\u2068desk@agents.test\u2069>:\u200f',
  ],
  ['Gmail in Hungarian', 'Desk <desk@agents.test> ezt írta (időpont: 2026. nov. 20., P, 9:00):'],
  ['Gmail in Hindi', 'शुक्र, 20 नव॰ 2026 को 9:00 am बजे को Desk <desk@agents.test> ने लिखा:'],
  ['Gmail in Turkish', 'Desk <desk@agents.test>, 20 Kas 2026 Cum, 09:00 tarihinde şunu yazdı:'],
  ['Apple Mail in Dutch', 'Op 20 nov 2026, om 09:00 heeft Desk <desk@agents.test> het volgende geschreven:'],
  ['Apple Mail in Polish', 'Wiadomość napisana przez Desk <desk@agents.test> w dniu 20.11.2026, o godz. 09:00:'],
  ['Proton Mail', 'On Friday, November 20th, 2026 at 9:00 AM, Desk <desk@agents.test> wrote:'],
  ['Roundcube in Romanian', 'În 2026-11-20 09:00, Desk a scris:'],
  ['Outlook for Mac', 'On 11/20/26, 9:00 AM, "Desk" <desk@agents.test> wrote:'],
  ['Notes', '-----Desk <desk@agents.test> wrote: -----'],
  ['Notes in German', '-----"Desk" <desk@agents.test> schrieb: -----'],
])('measureIntroduction() recognizes the line of %s', (_program, line) => {
  expect(measureIntroduction([line, '', ...quotedLines], 0)).toBe(1)
})

test.each([
  ['a line to translate', ['Please translate:', 'On Fri, 20 Nov 2026 at 09:00 Bob <bob@x.test> wrote:', 'Guten Tag']],
  [
    'a line that is announced',
    ['The header was:', '', 'On Fri, 20 Nov 2026 at 09:00 Bob <b@x.test> wrote:', '', 'Guten Tag'],
  ],
  ['a line with words right below it', ['So.', '', 'Am 20.11.2026 um 09:00 schrieb Desk:', 'Kommt alle.']],
  ['a line of one’s own', ['So.', '', 'Am 20.11.2026 um 09:00 schrieb ich:', '', 'Kommt alle.']],
  ['what somebody wrote that year', ['So.', '', 'Am 3. Mai 2024 schrieb Anna:', '', 'Kommt alle.']],
  ['a word inside others', ['a', '', 'Handwrotes 10:00:', '> x']],
  [
    'an entry of an agenda',
    ['Agenda', '', '2026-11-20 09:00 Ann <ann@x.test>:', 'Intro', '', '20.11.2026 Bo <b@x.test>:', 'Budget'],
  ],
  ['an appointment', ['a', '', 'Please meet at 10:00 with bob@x.test:', '- the plan']],
  ['a time above what one shows', ['At 10:00 on 20 Nov 2026 the server said:', '> error 500']],
])('measureIntroduction() finds none in %s', (_what, lines) => {
  expect(lines.map((_, at) => measureIntroduction(lines, at)).filter(count => count > 0)).toEqual([])
})

test('measureIntroduction() recognizes a wrapped line of Gmail in Finnish, below a line with a time', () => {
  const lines = ['At 10:00 then.', 'pe 20. marrask. 2026 klo 9.00 Desk', '<desk@agents.test> kirjoitti:', '', 'Two?']
  expect(lines.map((_, at) => measureIntroduction(lines, at))).toEqual([0, 0, 0, 0, 0])
  const separatedLines = ['At 10:00 then.', '', ...lines.slice(1)]
  expect(measureIntroduction(separatedLines, 2)).toBe(2)
  const quotedBelow = [...lines.slice(0, 3), ...quotedLines]
  expect(quotedBelow.map((_, at) => measureIntroduction(quotedBelow, at))).toEqual([0, 2, 1, 0])
})

test('measureIntroduction() recognizes a line below the name of the program, and one without a colon', () => {
  const line = 'On Jun 17, 2026, at 14:15, Desk <desk@agents.test> wrote'
  expect(measureIntroduction(['Yes.', '', 'Sent from TypeApp', `${line}:`, 'Two?'], 3)).toBe(1)
  expect(measureIntroduction(['Yes.', '', line, '', 'Two?'], 2)).toBe(1)
  expect(measureIntroduction(['Yes.', '', line, 'Two?'], 2)).toBe(0)
})

test('measureIntroduction() starts at the program’s line, below a similar line of its author', () => {
  const lines = ['On 3 May we go.', 'On Fri, 20 Nov 2026 at 09:00 Desk', '<desk@agents.test> wrote:', ...quotedLines]
  expect(lines.map((_, at) => measureIntroduction(lines, at))).toEqual([0, 2, 1, 0])
})
