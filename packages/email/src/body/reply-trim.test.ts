import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { trimReply } from './reply-trim.ts'

test.each([
  [
    'a quotation at the end',
    'Yes.\n\nOn Sat, Nov 21, 2026 at 10:00, Echo <echo@x.test> wrote:\n> Shall we?\n> Or not?\n',
    'Yes.',
  ],
  [
    'an introduction over two lines',
    'Yes.\n\nOn Sat, Nov 21, 2026 at 10:00 AM Echo\n<echo@agents.test> wrote:\n> Shall we?',
    'Yes.',
  ],
  ['an introduction in German', 'Ja.\n\nAm 21.11.2026 um 10:00 schrieb Echo:\n> Wollen wir?', 'Ja.'],
  ['an introduction in French', 'Oui.\n\nLe sam. 21 nov. 2026 à 10:00, Echo a écrit :\n> On y va ?', 'Oui.'],
  ['a separator of Outlook', 'Yes.\n\n-----Original Message-----\nFrom: Echo\nShall we?', 'Yes.'],
  ['a block of header lines', 'Yes.\n\nFrom: Echo\nSent: Saturday\nTo: Bob\nSubject: Lunch\n\nShall we?', 'Yes.'],
  [
    'the same below a line',
    'Yes.\n\n________________________________\nFrom: Echo\nDate: Saturday\nTo: Bob\n\nShall we?',
    'Yes.',
  ],
  ['a signature', 'Yes.\n\n-- \nBob\nExample Ltd', 'Yes.'],
  ['the name of a device', 'Yes.\n\nSent from my iPhone', 'Yes.'],
  [
    'what is quoted above a new text',
    'On 2026-11-21 Echo <e@x.test> wrote:\n> Shall we?\n\nYes, gladly.',
    'Yes, gladly.',
  ],
  [
    'an introduction over three lines, and one with a date behind the verb',
    'Oui.\n\nLe 4 janv. 2026 19:03, "Echo"\n<echo@agents.test>\na écrit :\n\nEcho <e@x.test> schrieb am Fr., 28.\nApr. 2026 um 11:53 Uhr:\n> Wollen wir?',
    'Oui.',
  ],
  [
    'an introduction in Russian',
    'Да.\n\n20 окт. 2026 г. 19:37 пользователь "Echo" <\ne@x.test> написал:\n> Идём?',
    'Да.',
  ],
  ['quoted lines without an introduction', 'Yes.\n\n> Shall we?', 'Yes.'],
  [
    'what is quoted below lines of the author’s own',
    'Try:\n> npm i\n\nOn Sat 10:00 Echo <e@x.test> wrote:\n> How?',
    'Try:\n> npm i',
  ],
  ['a bare mark with a name', 'Yes.\n\n--\nBob Smith\nExample Ltd', 'Yes.'],
])('trimReply() removes %s', (_what, text, trimmed) => {
  expect(trimReply(text)).toBe(trimmed)
})

const quoted = '\n> Shall we?'
const unquoted = '\n\nShall we meet on Monday?\n\nEcho'

test.each([
  ['ja, Gmail', '2026年11月21日(土) 10:00 Echo <echo@agents.test>:'],
  ['ja, Apple', '2026/11/21 10:00、Echo <echo@agents.test>のメール：'],
  ['ja, by word', 'Echo さんは2026年11月21日に書きました:'],
  ['zh, Gmail', 'Echo <echo@agents.test> 于2026年11月21日周六 10:00写道：'],
  ['zh-Hant, Gmail', 'Echo <echo@agents.test> 於 2026年11月21日 週六 上午10:00寫道：'],
  ['zh, Apple', '在 2026年11月21日，上午10:00，Echo <echo@agents.test> 写道：'],
  ['zh, 163', '在 2026-11-21 10:00:00，"Echo" <echo@agents.test> 写道：'],
  ['ko, Gmail', '2026년 11월 21일 (토) 오전 10:00, Echo <echo@agents.test>님이 작성:'],
  ['ko, Apple', '2026. 11. 21. 오전 10:00, Echo <echo@agents.test> 작성:'],
  ['ru, Gmail', 'сб, 21 нояб. 2026 г. в 10:00, Echo <echo@agents.test>:'],
  ['ru, Apple', '21 нояб. 2026 г., в 10:00, Echo <echo@agents.test> написал(а):'],
  ['ru, Yandex', '21.11.2026, 10:00, "Echo" <echo@agents.test>:'],
  ['ru, Mail.ru', 'Суббота, 21 ноября 2026, 10:00 +03:00 от Echo <echo@agents.test>:'],
  ['ar, Gmail', 'في السبت، 21 نوفمبر 2026 في 10:00 ص تمت كتابة ما يلي بواسطة Echo <echo@agents.test>:'],
  ['ar, Apple', 'في ٢١ نوفمبر ٢٠٢٦، الساعة ١٠:٠٠ ص، كتب Echo <echo@agents.test>:'],
  ['cs, Gmail', 'so 21. 11. 2026 v 10:00 odesílatel Echo <echo@agents.test> napsal:'],
  ['cs, Apple', '21. 11. 2026 v 10:00, Echo <echo@agents.test>:'],
  ['cs, Thunderbird', 'Dne 21. 11. 2026 v 10:00 Echo napsal(a):'],
  ['wrapped', '2026年11月21日(土) 10:00 Echo\n<echo@agents.test>:'],
])('trimReply() knows the introduction of %s', (what, introduction) => {
  expect(trimReply(`OK.\n\n${introduction}${quoted}`)).toBe('OK.')
  if (what !== 'ja, by word') expect(trimReply(`OK.\n\n${introduction}${unquoted}`)).toBe('OK.')
})

test.each([
  ['ja', '差出人: Echo\n送信日時: 2026年11月21日\n宛先: Bob\n件名: 昼食'],
  ['zh', '发件人：Echo\n发送时间：2026年11月21日\n收件人：Bob\n主题：午餐'],
  ['zh-Hant', '寄件者：Echo\n寄件日期：2026年11月21日\n收件者：Bob\n主旨：午餐'],
  ['ko', '보낸 사람: Echo\n보낸 날짜: 2026년 11월 21일\n받는 사람: Bob\n제목: 점심'],
  ['ru', 'От: Echo\nОтправлено: 21 ноября\nКому: Bob\nТема: обед'],
  ['ar', 'من: Echo\nتاريخ الإرسال: 21 نوفمبر\nإلى: Bob\nالموضوع: غداء'],
  ['cs', 'Od: Echo\nOdesláno: 21. listopadu\nKomu: Bob\nPředmět: oběd'],
])('trimReply() knows the header block that Outlook writes in %s', (_, block) => {
  expect(trimReply(`OK.\n\n${block}\n\nShall we?`)).toBe('OK.')
})

test.each([
  ['---------- Forwarded message ---------'],
  ['Begin forwarded message:'],
  ['-------- Weitergeleitete Nachricht --------'],
  ['---------- 转发的邮件 ---------'],
  ['---------- 転送メッセージ ----------'],
  ['-------- Пересылаемое сообщение --------'],
])('trimReply() cuts nothing below %j', separator => {
  const text = `See below.\n\n-- \nBob\n\n${separator}\nFrom: Ann <ann@x.test>\nDate: Sat, 21 Nov 2026 10:00\nSubject: Offer\nTo: Bob <b@x.test>\n\nTen euros.\n\nOn Fri, 20 Nov 2026 10:00 Bob <b@x.test> wrote:\n> How much?`
  expect(trimReply(text)).toBe(text)
})

test('trimReply() cuts a forwarded message inside the answered one', () => {
  const quote =
    'On Sat, 21 Nov 2026 10:00 Echo <e@x.test> wrote:\n> ---------- Forwarded message ---------\n> Ten euros.'
  expect(trimReply(`No.\n\n${quote}`)).toBe('No.')
})

test.each([
  ['answers between quoted lines', '> Shall we?\nYes.\n> When?\nAt noon.'],
  ['a quotation that is all there is', 'On Saturday, Echo wrote:\n> Shall we?'],
  ['a sentence that ends in a colon', 'On Monday we buy:\n- bread\n- milk'],
  ['one line that looks like a header', 'From: my point of view\nit is fine.'],
  ['a line of dashes', 'One\n-----\nTwo'],
  ['a sentence that somebody wrote', 'On the matter of lunch Bob wrote:\nIt is at noon.'],
  ['a word of somebody', 'Fine.\n\nAs Marx wrote:\nWorkers of the world.'],
  ['a line of dashes at the top', '--\nText below.'],
  ['settings that look like header lines', 'Use this:\n\nFrom: 10.0.0.1\nTo: 10.0.0.2\nSubject: none\n\nand restart.'],
  ['header lines right below a sentence', 'The log says\nFrom: relay.x.test\nDate: today\nTo: us\nand no more.'],
  ['code that is announced', 'Please run:\n\n> npm install\n> npm start'],
  ['code right below a sentence', 'Please run\n> npm install'],
  ['what one wrote oneself', 'On Tuesday 3 May I wrote:\nplease send the form.\n\nDid you get it?'],
  ['what one wrote at ten', 'On Tuesday 3 May at 10:00 I wrote:\nplease send the form.\n\nDid you get it?'],
  [
    'what somebody wrote that year',
    'In den Akten steht:\n\nAm 3. Mai 2024 schrieb Anna:\nDas Formular fehlt noch.\n\nStimmt das?',
  ],
  ['a line of two dashes between paragraphs', 'The first half.\n\n--\nThe second half follows here. Is it all right?'],
  ['a long text below two dashes', `One.\n--\n${'line\n'.repeat(12)}end`],
  ['a long text below the mark of a signature', `One.\n-- \n${'line\n'.repeat(30)}end`],
  ['no reply at all', 'Just text.\n\nWith paragraphs.'],
])('trimReply() keeps %s', (_what, text) => {
  expect(trimReply(text)).toBe(text)
})

test.each(['\n', '-', '>', ' ', '_', '> \n', 'On ', 'On a wrote:\n', 'From: x\n', '-----Original Message-----\n'])(
  'EM-56: 200 KB of %j end',
  piece => {
    expect(trimReply(piece.repeat(200_000 / piece.length))).toBeTypeOf('string')
    expect(measureGrowth(trimReply, piece, 200_000)).toBeLessThan(24)
  },
)
