import { expect, test } from 'vitest'
import { measureHeaderBlock } from './header-block.ts'

const composeLines = (labels: readonly string[], colon = ': ') => {
  const values = ['Desk <desk@agents.test>', '20.11.2026 09:00', 'Ann <ann@example.org>', 'Re: X']
  return ['OK.', '', ...labels.map((label, at) => `${label}${colon}${values[at]}`), '', 'Do you want two?']
}

test.each([
  ['ar', 'من', 'تاريخ الإرسال', 'إلى', 'الموضوع'],
  ['bg', 'От', 'Изпратено', 'До', 'Относно'],
  ['ca', 'De', 'Enviat', 'Per a', 'Assumpte'],
  ['cs', 'Od', 'Odesláno', 'Komu', 'Předmět'],
  ['da', 'Fra', 'Sendt', 'Til', 'Emne'],
  ['de', 'Von', 'Gesendet', 'An', 'Betreff'],
  ['el', 'Από', 'Στάλθηκε', 'Προς', 'Θέμα'],
  ['en', 'From', 'Sent', 'To', 'Subject'],
  ['es', 'De', 'Enviado', 'Para', 'Asunto'],
  ['et', 'Saatja', 'Saadetud', 'Adressaat', 'Teema'],
  ['fi', 'Lähettäjä', 'Lähetetty', 'Vastaanottaja', 'Aihe'],
  ['fr', 'De', 'Envoyé', 'À', 'Objet'],
  ['he', 'מאת', 'נשלח', 'אל', 'נושא'],
  ['hr', 'Od', 'Poslano', 'Prima', 'Predmet'],
  ['hu', 'Feladó', 'Elküldve', 'Címzett', 'Tárgy'],
  ['id', 'Dari', 'Dikirim', 'Kepada', 'Subjek'],
  ['it', 'Da', 'Inviato', 'A', 'Oggetto'],
  ['ja', '差出人', '送信日時', '宛先', '件名'],
  ['ko', '보낸 사람', '보낸 날짜', '받는 사람', '제목'],
  ['lt', 'Nuo', 'Išsiųsta', 'Kam', 'Tema'],
  ['lv', 'No', 'Nosūtīts', 'Kam', 'Tēma'],
  ['nb', 'Fra', 'Sendt', 'Til', 'Emne'],
  ['nl', 'Van', 'Verzonden', 'Aan', 'Onderwerp'],
  ['pl', 'Od', 'Wysłano', 'Do', 'Temat'],
  ['pt', 'De', 'Enviada em', 'Para', 'Assunto'],
  ['ro', 'De la', 'Trimis', 'Către', 'Subiect'],
  ['ru', 'От', 'Отправлено', 'Кому', 'Тема'],
  ['sk', 'Od', 'Odoslané', 'Komu', 'Predmet'],
  ['sl', 'Od', 'Poslano', 'Za', 'Zadeva'],
  ['sr', 'Од', 'Послато', 'За', 'Наслов'],
  ['sv', 'Från', 'Skickat', 'Till', 'Ämne'],
  ['th', 'จาก', 'ส่ง', 'ถึง', 'เรื่อง'],
  ['tr', 'Kimden', 'Gönderildi', 'Kime', 'Konu'],
  ['uk', 'Від', 'Надіслано', 'Кому', 'Тема'],
  ['vi', 'Từ', 'Đã gửi', 'Đến', 'Chủ đề'],
  ['zh', '发件人', '发送时间', '收件人', '主题'],
  ['zh-Hant', '寄件者', '寄件日期', '收件者', '主旨'],
])('measureHeaderBlock() recognizes the labels of Outlook in %s', (_language, ...labels) => {
  expect(measureHeaderBlock(composeLines(labels), 2)).toBe(4)
  expect(
    measureHeaderBlock(
      composeLines(
        labels.map(label => `*${label}`),
        ':* ',
      ),
      2,
    ),
  ).toBe(4)
  expect(measureHeaderBlock(composeLines(labels, '：'), 2)).toBe(4)
})

test.each([
  ['eu', 'Nork', 'Bidalia', 'Nori', 'Gaia'],
  ['ga', 'Ó', 'Seolta', 'Chuig', 'Ábhar'],
  ['ka', 'გამომგზავნი', 'გაგზავნილია', 'მიმღები', 'თემა'],
  ['kk', 'Кімнен', 'Жіберілген', 'Кімге', 'Тақырыбы'],
  ['ms', 'Daripada', 'Dihantar', 'Kepada', 'Subjek'],
  ['ta', 'அனுப்புநர்', 'அனுப்பியது', 'பெறுநர்', 'பொருள்'],
])('measureHeaderBlock() recognizes a block by its values in %s, a language without labels', (_language, ...labels) => {
  expect(measureHeaderBlock(composeLines(labels), 2)).toBe(4)
  expect(measureHeaderBlock(['My table:', ...composeLines(labels).slice(1)], 2)).toBe(0)
})

test.each([
  [
    'GMX',
    ['Gesendet: Freitag, 20. November 2026 um 09:00 Uhr', 'Von: "Desk" <d@x.test>', 'An: a@x.test', 'Betreff: Re'],
  ],
  ['Notes', ['To: ann@x.test', 'From: Desk <d@x.test>', 'Date: 11/20/2026 09:00AM', 'Subject: Re: Q']],
  ['QQ', ['From:  "Desk";<d@x.test>;', 'Date:  Fri, Nov 20, 2026 09:00 AM', 'To:  "Ann";<a@x.test>;', 'Subject:  Re']],
  ['Foxmail', ['发件人： Desk', '发送时间： 2026-11-20 09:00', '收件人： Ann', '主题： Re']],
  ['Outlook with a copy', ['From: Desk <d@x.test>', 'Sent: Friday', 'To: Ann', 'Cc: Bob', 'Subject: Re']],
])('measureHeaderBlock() recognizes the block of %s', (_program, block) => {
  expect(measureHeaderBlock(['OK.', '', ...block, '', 'Two?'], 2)).toBe(block.length)
})

test.each([
  ['a journey', ['Please book:', '', 'From: Berlin', 'To: Hamburg', 'Date: 3 December']],
  ['a journey that nothing announces', ['A ticket, please.', '', 'From: Berlin', 'To: Hamburg', 'Date: 3 December']],
  ['a mail to write', ['Please send this:', '', 'From: Ann <a@x.test>', 'To: Bob <b@x.test>', 'Subject: Offer']],
  ['settings', ['Use this.', '', 'From: 10.0.0.1', 'To: 10.0.0.2', 'Subject: none']],
  ['lines right below a sentence', ['The log says', 'From: relay <r@x.test>', 'Date: today', 'Subject: us']],
  ['two fields', ['So.', '', 'From: Ann <a@x.test>', 'Subject: Offer']],
  ['a list below two dashes', ['Hello.', '', '--', 'Von: Köln', 'An: Bonn', 'Betreff: Schrauben', 'Bye.']],
  ['a journey below three stars', ['Hello.', '***', 'From: Berlin', 'To: Hamburg', 'Date: 3 December']],
  [
    'a booking',
    [
      'Please book.',
      '',
      'Guest: Ann <a@x.test>',
      'Arrival: 20.11.2026 15:00',
      'Room: 7',
      'Wish: a quiet room',
      '',
      'Bye',
    ],
  ],
  [
    'a booking with a subject of an answer',
    ['So.', '', 'Arrival: 20.11.2026 15:00', 'Guest: Ann', 'Host: Bob', 'Mail: Re: the room', '', 'Bye'],
  ],
  [
    'a contact with an appointment',
    ['Call him.', '', 'Kontakt: bob@x.test', 'Ort: Bonn', 'Termin: 20.11.2026 09:00', 'Thema: Re: Angebot', '', 'Bye'],
  ],
  [
    'a move in German, with all four labels',
    ['Bitte.', '', 'Von: Köln', 'An: Bonn', 'Datum: 20.11.2026', 'Betreff: Umzug', '', 'Danke'],
  ],
  [
    'a guest with a subject',
    ['So.', '', 'Name: Ann <a@x.test>', 'Arrival: 20.11.2026 15:00', 'Room: 7', 'Subject: Re: room', '', 'Bye'],
  ],
  ['an order in German', ['Bitte liefern.', '', 'An: Lager 3', 'Datum: Montag', 'Betreff: Schrauben']],
])('measureHeaderBlock() finds none in %s', (_what, lines) => {
  expect(lines.map((_, at) => measureHeaderBlock(lines, at)).filter(count => count > 0)).toEqual([])
})

test('measureHeaderBlock() recognizes three fields with only a name below Outlook’s line', () => {
  const block = ['From: Desk', 'Sent: Friday', 'To: Ann']
  expect(measureHeaderBlock(['OK.', '', '_'.repeat(32), ...block, '', 'Two?'], 3)).toBe(3)
})
