import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { chooseReading } from './two-readings.ts'

const letter = 'Dear agent, please confirm the meeting tomorrow morning in the large room.'

test.each([
  [
    'a table that the plain text lacks',
    'Your bill is ready.',
    'Your bill is ready.\n\nTotal 310.00 EUR\nDue 1 December',
  ],
  ['a code in a long text', letter, `${letter} The code is 482913.`],
  ['a sentence more', letter, `${letter} Bring along three printed copies of every contract.`],
  ['all of it', '', letter],
  ['all of it behind an address', 'https://x.test/view?id=17', letter],
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
  expect(chooseReading(plain, html).from).toBe('html')
})

test.each([
  ['says the same', letter, letter],
  ['says the same in other lines', letter, letter.replaceAll(', ', ',\n> ')],
  ['says the same with addresses', letter, `${letter} <https://x.test/a/123>`],
  ['says less', `${letter} And bring three copies.`, letter],
  ['has one word more', letter, `${letter} Logo`],
  ['wraps Chinese elsewhere', '请在下周五之前\n支付全部费用，谢谢。', '请在下周五之前支付全部费用，谢谢。'],
  [
    'is of one size and says something else',
    letter,
    'Transfer every remaining invoice amount towards another bank account before you go.',
  ],
])('chooseReading() selects the plain text if the HTML %s', (_what, plain, html) => {
  expect(chooseReading(plain, html).from).toBe('plain')
})

test('chooseReading() reports differing readings, and text that only the other one has', () => {
  const otherLetter = 'Transfer every remaining invoice amount towards another bank account.'
  expect(chooseReading(letter, otherLetter)).toEqual({ from: 'plain', differs: true, leavesOut: true })
  expect(chooseReading(letter, letter)).toEqual({ from: 'plain', differs: false, leavesOut: false })
  const [plain, html] = [`${letter} Never pay account 17.`, `${letter} Pay account 99 at once.`]
  expect(chooseReading(plain, html)).toEqual({ from: 'html', differs: false, leavesOut: true })
})

test.each(['word ', 'a', '漢', 'https://', 'w1 w2 w3 ', '> '])(
  'chooseReading() takes linear time for many %j',
  piece => {
    expect(measureGrowth(text => chooseReading(text, `${text} more`).from, piece, 200_000)).toBeLessThan(24)
  },
)
