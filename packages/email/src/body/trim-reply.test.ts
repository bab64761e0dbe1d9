import { measureGrowth } from '@postern/testing/growth'
import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { trimReply } from './trim-reply.ts'

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
  [
    'a block of header lines',
    'Yes.\n\nFrom: Echo\nSent: Saturday, November 21, 2026 10:00 AM\nTo: Bob\nSubject: Lunch\n\nShall we?',
    'Yes.',
  ],
  [
    'a block of header lines below a drawn line',
    'Yes.\n\n________________________________\nFrom: Echo\nDate: Saturday\nTo: Bob\n\nShall we?',
    'Yes.',
  ],
  ['a signature', 'Yes.\n\n-- \nBob\nExample Ltd', 'Yes.'],
  ['the name of a device', 'Yes.\n\nSent from my iPhone', 'Yes.'],
  ['quoted text above new text', 'On 2026-11-21 Echo <e@x.test> wrote:\n> Shall we?\n\nYes, gladly.', 'Yes, gladly.'],
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
    'quoted text below lines that the author quotes',
    'Try:\n> npm i\n\nOn Sat 10:00 Echo <e@x.test> wrote:\n> How?',
    'Try:\n> npm i',
  ],
  ['a signature below two dashes without a space', 'Yes.\n\n--\nBob Smith\nExample Ltd', 'Yes.'],
])('trimReply() removes %s', (_what, text, expectedText) => {
  expect(trimReply(text)).toBe(expectedText)
})

const quotedText = '\n> Shall we?'
const unquotedText = '\n\nShall we meet on Monday?\n\nEcho'

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
])('trimReply() recognizes the introduction of %s', (what, introduction) => {
  expect(trimReply(`OK.\n\n${introduction}${quotedText}`)).toBe('OK.')
  if (what !== 'ja, by word') expect(trimReply(`OK.\n\n${introduction}${unquotedText}`)).toBe('OK.')
})

test.each([
  ['ja', '差出人: Echo\n送信日時: 2026年11月21日 10:00\n宛先: Bob\n件名: 昼食'],
  ['zh', '发件人：Echo\n发送时间：2026年11月21日 10:00\n收件人：Bob\n主题：午餐'],
  ['zh-Hant', '寄件者：Echo\n寄件日期：2026年11月21日 上午 10:00\n收件者：Bob\n主旨：午餐'],
  ['ko', '보낸 사람: Echo\n보낸 날짜: 2026년 11월 21일 오전 10:00\n받는 사람: Bob\n제목: 점심'],
  ['ru', 'От: Echo\nОтправлено: 21 ноября 2026 г. 10:00\nКому: Bob\nТема: обед'],
  ['ar', 'من: Echo\nتاريخ الإرسال: 21 نوفمبر 2026 10:00\nإلى: Bob\nالموضوع: غداء'],
  ['cs', 'Od: Echo\nOdesláno: 21. listopadu 2026 10:00\nKomu: Bob\nPředmět: oběd'],
])('trimReply() recognizes the header block that Outlook writes in %s', (_, block) => {
  expect(trimReply(`OK.\n\n${block}\n\nShall we?`)).toBe('OK.')
})

test.each([
  ['---------- Forwarded message ---------'],
  ['Begin forwarded message:'],
  ['-------- Weitergeleitete Nachricht --------'],
  ['---------- 转发的邮件 ---------'],
  ['---------- 転送メッセージ ----------'],
  ['-------- Пересылаемое сообщение --------'],
])('trimReply() keeps all text below %j', separator => {
  const text = `See below.\n\n-- \nBob\n\n${separator}\nFrom: Ann <ann@x.test>\nDate: Sat, 21 Nov 2026 10:00\nSubject: Offer\nTo: Bob <b@x.test>\n\nTen euros.\n\nOn Fri, 20 Nov 2026 10:00 Bob <b@x.test> wrote:\n> How much?`
  expect(trimReply(text)).toBe(text)
})

test('trimReply() removes a forwarded message inside the answered one', () => {
  const quote =
    'On Sat, 21 Nov 2026 10:00 Echo <e@x.test> wrote:\n> ---------- Forwarded message ---------\n> Ten euros.'
  expect(trimReply(`No.\n\n${quote}`)).toBe('No.')
})

test.each([
  ['answers between quoted lines', '> Shall we?\nYes.\n> When?\nAt noon.'],
  ['a mail that is only a quotation', 'On Saturday, Echo wrote:\n> Shall we?'],
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
  [
    'a quotation of the author’s own earlier words',
    'On Tuesday 3 May I wrote:\nplease send the form.\n\nDid you get it?',
  ],
  [
    'a quotation of the author’s own words with a time',
    'On Tuesday 3 May at 10:00 I wrote:\nplease send the form.\n\nDid you get it?',
  ],
  [
    'a quotation of a person without a time of day',
    'In den Akten steht:\n\nAm 3. Mai 2024 schrieb Anna:\nDas Formular fehlt noch.\n\nStimmt das?',
  ],
  ['a line of two dashes between paragraphs', 'The first half.\n\n--\nThe second half follows here. Is it all right?'],
  ['a long text below two dashes', `One.\n--\n${'line\n'.repeat(12)}end`],
  ['a long text below a signature separator', `One.\n-- \n${'line\n'.repeat(30)}end`],
  ['no reply at all', 'Just text.\n\nWith paragraphs.'],
])('trimReply() keeps %s', (_what, text) => {
  expect(trimReply(text)).toBe(text)
})

test.each(['\n', '-', '>', ' ', '_', '> \n', 'On ', 'On a wrote:\n', 'From: x\n', '-----Original Message-----\n'])(
  'trimReply() takes linear time for 200 KB of %j (EM-56)',
  piece => {
    expect(trimReply(piece.repeat(200_000 / piece.length))).toBeTypeOf('string')
    expect(measureGrowth(trimReply, piece, 200_000)).toBeLessThan(24)
  },
)

const newText = 'Yes, two please.'

test.each([
  [
    'a block in Finnish',
    'Lähettäjä: Desk <d@x.test>\nLähetetty: 20.11.2026 09:00\nVastaanottaja: Ann\nAihe: Re: X\n\nTwo?',
  ],
  [
    'a block of GMX',
    'Gesendet: Freitag, 20. November 2026 um 09:00 Uhr\nVon: "Desk" <d@x.test>\nAn: a@x.test\nBetreff: Re\n\nTwo?',
  ],
  [
    'a block of QQ',
    '------------------ 原始邮件 ------------------\n发件人: "Desk"<d@x.test>;\n发送时间: 2026年11月20日 09:00\n\nTwo?',
  ],
  ['a line of QQ in English', '------------------ Original ------------------\nFrom: "Desk";<d@x.test>;\n\nTwo?'],
  ['a line of GroupWise', '>>> Desk <desk@agents.test> 11/20/2026 9:00 AM >>>\nDo you want two?'],
  [
    'a line and a block of Notes',
    '-----Desk <d@x.test> wrote: -----\nTo: a@x.test\nFrom: Desk <d@x.test>\nDate: 11/20/2026\n\nTwo?',
  ],
  ['a line of Tuta', 'Nov 20, 2026, 09:00 by desk@agents.test:\n\n> Do you want two?'],
  ['a line of Thunderbird in Greek', 'Στις 20/11/2026 9:00 π.μ., ο/η Desk έγραψε:\n> Do you want two?'],
  ['the name of a device in Greek', 'Εστάλη από το iPhone μου'],
  [
    'the name of a program above a quotation',
    'Ottieni Outlook per Android\n\nIl 20/11/2026 09:00, Desk ha scritto:\n> Due?',
  ],
  ['a separator in Turkish', '-------- Özgün İleti --------\nKonu: X\n\nTwo?'],
])('trimReply() removes the text below %s', (_what, end) => {
  expect(trimReply(`${newText}\n\n${end}`)).toBe(newText)
})

test.each([
  ['two dashes between the lines of an order', 'Cement\n--\nSand comes later'],
  ['two dashes between the paragraphs of an order', 'Cement\n\n--\n\nSand comes later'],
  ['a parcel', 'The parcel was\nsent by courier on Tuesday'],
  ['a parcel in a paragraph', 'Where is it?\n\nSent via DHL yesterday'],
  ['a parcel in Italian', 'Il pacco è stato\ninviato da Torino'],
  ['a note in German', 'Wichtig:\nDiese Nachricht wurde von mir geprüft'],
  ['a journey', 'A ticket, please.\n\nFrom: Berlin\nTo: Hamburg\nDate: 3 December'],
  [
    'a line to translate',
    'Please translate this line:\nOn Fri, 20 Nov 2026 at 09:00 Bob <bob@example.org> wrote:\nGuten Tag',
  ],
  ['a question about a program', 'Is this right?\n\nGet Outlook for Android and sign in?'],
])('trimReply() keeps %s that a person wrote', (_what, text) => {
  expect(trimReply(text)).toBe(text)
})

/** Ordinary lines. Many of these lines begin like the lines that mail programs write. */
const ordinaryLines = [
  ...['On Monday we buy bread.', 'Sent from Berlin by train.', 'From: Berlin', 'To: Hamburg', 'Date: next week', '--'],
  ...['At noon the list was done, she wrote', 'Get the parcel on Friday', 'wrote nothing yet', 'Subject of the talk'],
  ...['Am Montag kommt das Paket.', 'Von meinem Bruder gesendet', 'Gesendet mit der Post', 'Von: Köln', 'An: Bonn'],
  ...['Anna schrieb gestern: alles gut', 'Datum offen', 'Betreff: Schrauben und Dübel', 'Holen Sie sich Brot'],
  ...['Le pain est prêt.', 'Envoyé de Paris', 'De: Lyon', 'À: Nice', 'Marie a écrit une lettre', 'Objet trouvé'],
  ...['El lunes llega el pan.', 'Enviado desde Madrid', 'Para: la abuela', 'Ana escribió una carta'],
  ...['Il pane è pronto.', 'inviato da Torino', 'Da: Roma', 'A: Milano', 'Oggetto smarrito', 'Scarica il pane'],
  ...[
    'Em casa há pão.',
    'Enviado de Lisboa',
    'Obter o pão',
    'Op maandag komt het.',
    'Verzonden met PostNL',
    'Aan: oma',
  ],
  ...[
    'Den nye ordre er klar.',
    'Sendt fra Aarhus',
    'Få brød',
    'På fredag går det bra.',
    'Skickat från Lund',
    'Ämne: bröd',
  ],
  ...[
    'W dniu targu kupuję chleb.',
    'Wysłane z Warszawy',
    'Od jutra mamy chleb',
    'Do: babcia',
    'Dne nevím',
    'Odesláno z Brna',
  ],
  ...[
    'Lähetetty postissa',
    'Aihe: leipä',
    'Saadetud bussiga',
    'A boltból küldve',
    'Trimis de la Cluj',
    'La piață e pâine',
  ],
  ...[
    'Στις τρεις έρχομαι.',
    'Από: Αθήνα',
    'Εστάλη από το γραφείο',
    'В понедельник привезут хлеб.',
    'Отправлено из Москвы',
  ],
  ...[
    'От бабушки',
    'Кому хлеб?',
    'Надіслано з Києва',
    'Изпратено от София',
    'Ekmek gönderildi',
    'Konu: ekmek',
    'Kime: anneme',
  ],
  ...[
    'パンを買います。',
    '会社から送信',
    '件名：パン',
    '从北京发送',
    '主题：面包',
    '他写道很好',
    '빵을 샀습니다.',
    '서울에서 보냄',
  ],
  ...[
    'في المتجر خبز',
    'من: بيروت',
    'أرسلت من بيروت',
    'נשלח מחיפה',
    'נושא: לחם',
    'ส่งจากเชียงใหม่',
    'Đã gửi từ Huế',
    'Dikirim dari Bali',
  ],
]

test('trimReply() keeps ordinary lines in many languages, in any order', () => {
  const line = fc.constantFrom(...ordinaryLines)
  const gap = fc.constantFrom('\n', '\n', '\n\n')
  const text = fc.array(fc.tuple(line, gap), { minLength: 1, maxLength: 8 }).map(pairs => {
    const joined = pairs.map(pair => pair.join('')).join('')
    return `Hello.\n\n${joined}Bye.`
  })
  fc.assert(
    fc.property(text, drawnText => {
      expect(trimReply(drawnText)).toBe(drawnText)
    }),
    { numRuns: drawCount({ quick: 2_000, long: 20_000 }) },
  )
})

test.each(ordinaryLines.filter(line => line !== '--'))('trimReply() keeps %j at the end of a reply', line => {
  for (const text of [`Hello.\n\n${line}`, `Hello.\n${line}`]) expect(trimReply(text)).toBe(text)
})
