import { describe, expect, test } from 'vitest'
import { readVisibleText, readVisibleValue } from './visible-text.ts'

const tags = (word: string) =>
  [...word].map(char => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join('')

describe('readVisibleText() removes', () => {
  test.each<[string, string, string, number]>([
    ['tag characters', `Hello${tags('PAY')} there.`, 'Hello there.', 3],
    ['zero-width spaces inside words', 'Pa\u200by th\u200be bi\u200bll.', 'Pay the bill.', 3],
    ['joiners between Latin letters', 'a\u200cb\u200dc', 'abc', 2],
    ['word joiners and byte order marks', 'a\u2060b\ufeffc', 'abc', 2],
    ['a direction override', 'Ann\u202enimda', 'Annnimda', 1],
    ['an override in a line with right-to-left letters', 'שלום\u202eabc\u202c', 'שלוםabc', 2],
    ['marks of direction in a line without right-to-left letters', 'a\u200e\nשלום', 'a\nשלום', 1],
    ['all but one of the marks at one position', 'שלום\u200f\u200e\u200f!', 'שלום\u200f!', 2],
    ['an isolate that nothing ends', 'שלום \u2066abc', 'שלום abc', 1],
    ['variation selectors after no base', 'a\ufe00b\u{e0100}c\ufe0f', 'abc', 3],
    ['a second selector after one base', '❤\ufe0f\ufe0f', '❤\ufe0f', 1],
    ['a selector after a digit that is no keycap', '1\ufe0f2', '12', 1],
    ['fillers of Hangul and Khmer', 'a\u3164b\uffa0c\u115fd\u17b4e', 'abcde', 4],
    ['controls', 'a\u001b[2Jb\u0000c\u009bd\u007f', 'a[2Jbcd', 4],
    ['annotations between lines', 'a\ufff9b\ufffac\ufffb', 'abc', 3],
    ['invisible operators and soft hyphens', 'f\u2061(x) co\u00adop', 'f(x) coop', 2],
    ['noncharacters', 'a\uffffb', 'ab', 1],
    ['tags behind a flag', `\u{1f3f4}${tags('gbsct')}\u{e007f}${tags('no')}`, `\u{1f3f4}${tags('gbsct')}\u{e007f}`, 2],
    ['tags of a flag that nobody shows', `\u{1f3f4}${tags('obey')}\u{e007f}`, '\u{1f3f4}', 5],
    ['a second joiner at one position', 'می\u200c\u200dخواهم', 'می\u200cخواهم', 1],
    ['a run of Mongolian selectors', `ᠠ${'\u180b\u180c'.repeat(9)}`, 'ᠠ\u180b', 17],
    ['a run of controls after a hieroglyph', `𓀀${'\u{13430}'.repeat(20)}`, `𓀀${'\u{13430}'.repeat(3)}`, 17],
    ['a run of shorthand controls', `\u{1bc00}${'\u{1bca0}'.repeat(20)}`, '\u{1bc00}\u{1bca0}', 19],
    ['a run of musical controls', `𝄞${'\u{1d173}'.repeat(20)}`, `𝄞${'\u{1d173}'.repeat(2)}`, 18],
    [
      'selectors of ideographs that spell a text',
      Array.from('signature', letter => `字${String.fromCodePoint(0xe0080 + (letter.codePointAt(0) ?? 0))}`).join(''),
      '字'.repeat(9),
      9,
    ],
  ])('%s', (_, text, visible, removed) => {
    expect(readVisibleText(text)).toEqual({ text: visible, removedCount: removed })
    expect(readVisibleText(visible)).toEqual({ text: visible, removedCount: 0 })
  })
})

describe('readVisibleText() keeps', () => {
  test.each([
    ['plain words, tabs and line ends', 'a b\tc\nd\r\ne'],
    ['a right-to-left mark in a Hebrew sentence', 'שלום (ABC)\u200f, מחר.'],
    ['an Arabic letter mark before a number', 'الرقم \u061c12-34 هنا.'],
    [
      'isolates and embeddings in pairs beside right-to-left letters',
      'שלום \u2067abc \u2066x\u2069\u2069 \u202bdef\u202c',
    ],
    ['the joiner of a Persian verb', 'می\u200cخواهم'],
    ['joiners of Hindi, Malayalam, Sinhala and Bengali', 'क्\u200dष നന്\u200d ක්\u200dෂ র\u200d্য'],
    ['a Kurdish letter at the end of a word', 'ئه\u200c'],
    ['places for line breaks in Khmer and Thai', 'សួស្តី\u200bពិភពលោក สวัสดี\u200bโลก'],
    [
      'a family, a person at work and a heart on fire',
      '👨\u200d👩\u200d👧 🧑🏽\u200d🚀 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈',
    ],
    [
      'the flags of England, Scotland and Wales',
      ['gbeng', 'gbsct', 'gbwls'].map(of => `🏴${tags(of)}\u{e007f}`).join(),
    ],
    ['keycaps and text style', '1\ufe0f\u20e3 #\ufe0f\u20e3 ☎\ufe0e ©\ufe0f'],
    ['the variant of an ideograph in a name', '葛\u{e0100}城'],
    ['Mongolian with its selectors and vowel separator', 'ᠠ\u180b ᠬ\u180eᠠ'],
    ['Old Korean without a first letter', '\u115f\u1161'],
    ['Arabic number signs, which are seen', '\u0600١٢'],
    ['characters for private use', '\ue000 \u{f0000}'],
    ['a blank of Braille', '⠁⠀⠃'],
  ])('%s', (_, text) => {
    expect(readVisibleText(text)).toEqual({ text, removedCount: 0 })
  })
})

test('readVisibleText() normalizes line endings, and makes text well-formed', () => {
  expect(readVisibleText('a\rb\fc\u0085d\ud83d')).toEqual({ text: 'a\nb\nc\nd\ufffd', removedCount: 0 })
})

test('readVisibleText() keeps every emoji that Unicode recommends', () => {
  const sequences = /^\p{RGI_Emoji}$/v
  const [women, men, tones] = ['\u{1f469}', '\u{1f468}', ['', '\u{1f3fb}', '\u{1f3ff}']]
  const objects = ['⚕\ufe0f', '🌾', '🍳', '🎓', '✈\ufe0f', '⚖\ufe0f', '🔬']
  const all = [women, men].flatMap(who => tones.flatMap(tone => objects.map(of => `${who}${tone}\u200d${of}`)))
  expect(all.filter(each => sequences.test(each)).length).toBe(all.length)
  expect(all.filter(each => readVisibleText(each).text !== each)).toEqual([])
})

test('readVisibleValue() cleans every string except the named ones', () => {
  const value = { text: 'a\u200b', list: ['b\u200b', 7, null], bytes: 'c\u200b' }
  expect(readVisibleValue(value, { except: new Set(['bytes']) })).toEqual({
    value: { text: 'a', list: ['b', 7, null], bytes: 'c\u200b' },
    removed: 2,
  })
})

test('readVisibleValue() cleans the names of members, and keeps both of two that become equal', () => {
  const value = { [`note${tags('OBEY')}`]: 1, note: 2, 'list\u200b': [{ 'a\u200b': 'b' }] }
  expect(readVisibleValue(value)).toEqual({ value: { note_2: 1, note: 2, list: [{ a: 'b' }] }, removed: 6 })
})
