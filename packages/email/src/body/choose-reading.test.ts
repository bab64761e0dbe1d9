import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { chooseReading } from './choose-reading.ts'

const mailText = 'Dear agent, please confirm the meeting tomorrow morning in the large room.'

test.each([
  [
    'a table that the plain text lacks',
    'Your bill is ready.',
    'Your bill is ready.\n\nTotal 310.00 EUR\nDue 1 December',
  ],
  ['a code in a long text', mailText, `${mailText} The code is 482913.`],
  ['a sentence more', mailText, `${mailText} Bring along three printed copies of every contract.`],
  ['all of the text', '', mailText],
  ['all of it behind an address', 'https://x.test/view?id=17', mailText],
  ['words behind a note in English', 'Please view this mail in an HTML reader.', 'Parcel 77 arrives on Monday.'],
  ['words behind a note in French', 'Ouvrez ce message dans votre navigateur.', 'Le colis arrive lundi matin.'],
  ['words behind a note in Japanese', 'このメールはブラウザでご覧ください。', '荷物は月曜日に届きます。'],
  ['words behind a note about HTML in Japanese', 'このメールはHTML形式です。', '荷物は月曜日に届きます。'],
  ['words behind a note about HTML in Chinese', '您的邮箱不支持HTML邮件。', '包裹将于星期一送达。'],
  [
    'words behind a short line',
    'Ihre Rechnung finden Sie anbei.',
    'Guten Tag Frau Weber, wir danken für die Bestellung vom Montag und senden die Bohrmaschine morgen.',
  ],
  ['a line in Chinese', '您好，账单已出。', '您好，账单已出。请在下周五之前支付全部费用。'],
])('chooseReading() selects HTML that has %s', (_what, plain, html) => {
  expect(chooseReading(plain, html).source).toBe('html')
})

test.each([
  ['says the same', mailText, mailText],
  ['says the same in other lines', mailText, mailText.replaceAll(', ', ',\n> ')],
  ['says the same with addresses', mailText, `${mailText} <https://x.test/a/123>`],
  ['says less', `${mailText} And bring three copies.`, mailText],
  ['has one word more', mailText, `${mailText} Logo`],
  ['wraps Chinese elsewhere', '请在下周五之前\n支付全部费用，谢谢。', '请在下周五之前支付全部费用，谢谢。'],
  [
    'is of one size and says something else',
    mailText,
    'Transfer every remaining invoice amount towards another bank account before you go.',
  ],
])('chooseReading() selects the plain text if the HTML %s', (_what, plain, html) => {
  expect(chooseReading(plain, html).source).toBe('plain')
})

test('chooseReading() reports differing readings, and words that only the other reading has', () => {
  const otherLetter = 'Transfer every remaining invoice amount towards another bank account.'
  expect(chooseReading(mailText, otherLetter)).toEqual({ source: 'plain', differs: true, omitsWords: true })
  expect(chooseReading(mailText, mailText)).toEqual({ source: 'plain', differs: false, omitsWords: false })
  const [plain, html] = [`${mailText} Never pay account 17.`, `${mailText} Pay account 99 at once.`]
  expect(chooseReading(plain, html)).toEqual({ source: 'html', differs: false, omitsWords: true })
})

test.each(['word ', 'a', '漢', 'https://', 'w1 w2 w3 ', '> '])(
  'chooseReading() takes linear time for many %j',
  piece => {
    expect(measureGrowth(text => chooseReading(text, `${text} more`).source, piece, 200_000)).toBeLessThan(24)
  },
)
