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
])('trimReply() takes %s away', (_what, text, trimmed) => {
  expect(trimReply(text)).toBe(trimmed)
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
  ['no reply at all', 'Just text.\n\nWith paragraphs.'],
])('trimReply() keeps %s', (_what, text) => {
  expect(trimReply(text)).toBe(text)
})

test.each(['\n', '-', '>', ' ', '_', '> \n', 'On ', 'On a wrote:\n', 'From: x\n', '-----Original Message-----\n'])(
  'row 56: 200 KB of %j end',
  piece => {
    expect(trimReply(piece.repeat(200_000 / piece.length))).toBeTypeOf('string')
    expect(measureGrowth(trimReply, piece, 200_000)).toBeLessThan(24)
  },
)
