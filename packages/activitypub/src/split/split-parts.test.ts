import type { Part } from '@postern/message'
import { measureGrowth } from '@postern/testing/growth'
import { drawCount } from '@postern/testing/scale'
import { describe, expect, test } from 'vitest'
import { readPostText } from '../html/read-note.ts'
import { countVisible } from '../html/visible-length.ts'
import { partsToHtml } from '../text/post-html.ts'
import { splitParts } from './split-parts.ts'

type Mime = 'text/plain' | 'text/markdown' | 'text/html'

const write = (content: string, mime: Mime = 'text/markdown'): Part => ({ kind: 'text', mime, content })
const show = (parts: readonly Part[]) => partsToHtml({ parts: [...parts], status: 'completed' })
const sizesOf = (pieces: readonly (readonly Part[])[]) => pieces.map(piece => countVisible(show(piece)))

function split(content: string, limit: number, mime: Mime = 'text/markdown'): readonly string[] {
  return splitParts([write(content, mime)], limit).map(piece =>
    piece.map(part => (part.kind === 'text' ? part.content : part.kind)).join(' + '),
  )
}

/** Returns all letters that a reader sees, in order. */
function lettersOf(parts: readonly Part[]): string {
  return readPostText(show(parts)).text.replace(/\P{L}/gu, '')
}

const sentence = 'The quick brown fox jumps over the lazy dog. '

describe('splitParts()', () => {
  test('returns an answer that fits unchanged, with the same part objects', () => {
    const parts: Part[] = [write('# One\n\n\n*two*  '), { kind: 'link', url: 'https://a.test/' }, write('three')]
    const pieces = splitParts(parts, 100)
    expect(pieces).toHaveLength(1)
    expect(pieces[0]).toBe(parts)
    expect(splitParts([], 100)).toEqual([[]])
  })

  test('fills a post to its last character', () => {
    expect(split('x'.repeat(100), 100)).toHaveLength(1)
    expect(split('x'.repeat(101), 100).map(text => text.length)).toEqual([100, 1])
  })

  test('cuts between paragraphs if possible', () => {
    const [one, two, three] = ['a', 'b', 'c'].map(letter => `${letter} ${'word '.repeat(9)}end.`)
    expect(split(`${one}\n\n${two}\n\n${three}`, 110)).toEqual([`${one}\n\n${two}`, three])
  })

  test('cuts a long paragraph between sentences, and a long sentence between words', () => {
    expect(split(sentence.repeat(3), 100)).toEqual([sentence.repeat(2).trim(), sentence.trim()])
    expect(split('word '.repeat(20), 52)).toEqual(['word '.repeat(10).trim(), 'word '.repeat(10).trim()])
    expect(split('Line one of many\nline two of many\nline three', 40)).toEqual([
      'Line one of many\nline two of many',
      'line three',
    ])
  })

  test('cuts after a Chinese or Japanese full stop', () => {
    const text = '私は猫である。'.repeat(8)
    expect(split(text, 40)).toEqual(['私は猫である。'.repeat(5), '私は猫である。'.repeat(3)])
  })

  test.each([
    ['an emoji', '😀'],
    ['a family', '👨‍👩‍👧‍👦'],
    ['a flag', '🇩🇪'],
    ['a letter with accents', 'e\u0301\u0323'],
    ['a keycap', '1️⃣'],
  ])('never cuts %s, and counts it as one character', (_, cluster) => {
    for (const mime of ['text/plain', 'text/markdown'] as const) {
      const pieces = split(cluster.repeat(50), 41, mime)
      expect(pieces).toEqual([cluster.repeat(41), cluster.repeat(9)])
    }
  })

  test('keeps URLs whole, each counted as 23 characters', () => {
    const address = `https://a.test/${'path/'.repeat(30)}`
    expect(split(`${address} ${address}`, 47)).toHaveLength(1)
    expect(split(`${address} ${address}`, 46)).toEqual([address, address])
    expect(split(`x${address},${address}`, 47, 'text/plain').join('')).toBe(`x${address},${address}`)
    expect(split(`${'x'.repeat(30)}${address}`, 40)).toEqual(['x'.repeat(30), address])
  })

  test('keeps a link together with its label, and emphasis and code with their markers', () => {
    const marked = ['[a label of words](https://a.test/b)', '**bold for some words**', '`code of some words`']
    for (const inline of marked) {
      const pieces = split(`${'word '.repeat(7)}${inline} ${'word '.repeat(7)}`, 45)
      expect(pieces.filter(piece => piece.includes(inline))).toHaveLength(1)
    }
  })

  test('continues bold text in each post, and keeps an unpaired marker unchanged', () => {
    const line = sentence.trim()
    expect(split(`Now: **${line} ${line} ${line}** End.`, 60)).toEqual([
      `Now: **${line}**`,
      `**${line}**`,
      `**${line}** End.`,
    ])
    expect(split(`def f(**kwargs): ${line} ${line}`, 62)).toEqual([`def f(**kwargs): ${line}`, line])
  })

  test('closes a code fence at a cut, and reopens it with its language', () => {
    const code = Array.from({ length: 6 }, (_, at) => `line ${at} of the code`)
    expect(split(`\`\`\`ts\n${code.join('\n')}\n\`\`\`\n\nEnd.`, 60)).toEqual([
      `\`\`\`ts\n${code.slice(0, 3).join('\n')}\n\`\`\``,
      `\`\`\`ts\n${code.slice(3).join('\n')}\n\`\`\``,
      'End.',
    ])
  })

  test('keeps blank lines and indentation in code, and ignores a fence marker at the start of a cut line', () => {
    const pieces = split(`~~~\na\n\n  b ${'x'.repeat(30)}\n~~~\n\nEnd of it.`, 40)
    expect(pieces).toEqual([`~~~\na\n\n  b ${'x'.repeat(30)}\n~~~`, 'End of it.'])
    const hostile = split(`\`\`\`\n${'x'.repeat(40)}\`\`\`${'y'.repeat(30)}\n\`\`\``, 40)
    expect(hostile[1]).toBe(`\`\`\`\`\n\`\`\`${'y'.repeat(30)}\n\`\`\`\``)
  })

  test('continues the numbers of a list', () => {
    const list = Array.from({ length: 6 }, (_, at) => `${at + 1}. an item of the list`)
    const pieces = splitParts([write(list.join('\n'))], 70)
    expect(pieces.map(show)).toEqual([expect.stringMatching(/^<ol><li>/), expect.stringMatching(/^<ol start="4"><li>/)])
  })

  test('continues a list whose items all have the number 1', () => {
    expect(split('1. an item of the list\n'.repeat(6), 70).map(text => text.match(/^\d/gm))).toEqual([
      ['1', '2', '3'],
      ['4', '5', '6'],
    ])
  })

  test('keeps a list item’s marker once over a cut, with its nested content', () => {
    const line = sentence.trim()
    const pieces = split(`7. ${line}\n   - nested ${line}\n8. last`, 70)
    expect(pieces).toEqual([`7. ${line}`, `- nested ${line}\n8. last`])
  })

  test('continues a quote after a cut', () => {
    const pieces = split(`> ${sentence}${sentence}\n> ${sentence}`, 60)
    expect(pieces).toEqual([`> ${sentence.trim()}`, `> ${sentence.trim()}`, `> ${sentence.trim()}`])
  })

  test('never leaves a heading at the end of a post', () => {
    const text = `Before it all.\n\n## Title\n\n${'word '.repeat(9)}end.`
    expect(split(text, 70)).toEqual(['Before it all.', `## Title\n\n${'word '.repeat(9)}end.`])
    const list = `${'word '.repeat(7)}\n\n## Title\n\n${'1. an item of the list\n'.repeat(4)}`
    expect(split(list, 50)[1]).toMatch(/^## Title\n\n1\. an/)
  })

  test('escapes the start of a post that would become a list, a heading or a quote', () => {
    for (const mark of ['- ', '1. ', '# ', '> ', '+ ']) {
      const text = `${'word '.repeat(8)}${mark}${'more '.repeat(8)}`
      const html = splitParts([write(text)], 42)
        .map(show)
        .join('')
      expect(html).not.toMatch(/<(?:ul|ol|strong|blockquote)/)
      expect(readPostText(html).text).toContain(mark.trim())
    }
  })

  test('keeps the paragraphs of plain text, and cuts HTML by its visible text', () => {
    const paragraph = sentence.repeat(2).trim()
    expect(split(`${paragraph}\n\n${paragraph}`, 160, 'text/plain')).toEqual([paragraph, paragraph])
    expect(split(`${paragraph}\r\n\r\n${paragraph}`, 160, 'text/plain')).toEqual([paragraph, paragraph])
    const html = `<p>${paragraph}</p><p>${sentence}<a href="https://a.test/">here</a></p>`
    const pieces = splitParts([write(html, 'text/html')], 100)
    expect(pieces.map(show).join('')).toContain('href="https://a.test/"')
    expect(pieces[0]).toEqual([write(paragraph, 'text/plain')])
  })

  test('keeps files, links and requirements whole and in order', () => {
    const file: Part = { kind: 'file', name: 'a.png', bytes_ref: { kind: 'url', url: 'https://a.test/a.png' } }
    const link: Part = { kind: 'link', url: 'https://a.test/', title: 'A page of much use' }
    const requirement: Part = { kind: 'policy', policy: { kind: 'forbidden', message: sentence.repeat(3) } }
    const unknown = { kind: 'poll' } as unknown as Part
    const pieces = splitParts([write('word '.repeat(6)), file, link, requirement, unknown, write('End.')], 40)
    expect(pieces).toEqual([[write('word '.repeat(6)), file], [link], [requirement, unknown], [write('End.')]])
    expect(pieces[0]?.[1]).toBe(file)
  })

  test('makes at most 20 posts, and the last has the whole rest', () => {
    const paragraphs = Array.from({ length: 60 }, (_, at) => `Number ${at}. ${sentence}`.trim())
    const pieces = split(paragraphs.join('\n\n'), 60)
    expect(pieces).toHaveLength(20)
    expect(pieces[19]).toBe(paragraphs.slice(19).join('\n\n'))
    expect(split('x'.repeat(10_000), 100).map(text => text.length)).toEqual([...Array(19).fill(100), 8_100])
  })

  test('treats a limit that is too small for a thread as 40', () => {
    expect(split('word '.repeat(20), -3)).toEqual(split('word '.repeat(20), 40))
  })

  test('counts markers that change their meaning beside others', () => {
    const hostile = [
      'http:**//a** ',
      '`a\nb [c](https://d.test/e) ',
      '@a*@b.test* ',
      '* * ',
      '\\',
      '[a](https://b.test/) `',
    ]
    for (const piece of hostile) {
      const pieces = splitParts([write(piece.repeat(60))], 50)
      expect(Math.max(...sizesOf(pieces).slice(0, 19))).toBeLessThanOrEqual(50)
    }
  })
})

/** Creates pseudo-random numbers that are the same each time. */
function createDice(seed: number): (sides: number) => number {
  let state = seed
  return sides => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const words = [
  'a',
  'Wort',
  'élan',
  'longerword',
  'naïve',
  '猫',
  'end.',
  'why?',
  '**bold**',
  '*it*',
  '`code`',
  'x'.repeat(70),
]
const links = ['https://a.test/some/path', '[label](https://b.test/c)', '@bob@c.test']

function composeAnswer(dice: (sides: number) => number): string {
  const line = (count: number) =>
    Array.from({ length: 1 + dice(count) }, () => (dice(9) === 0 ? links[dice(3)] : words[dice(words.length)])).join(
      ' ',
    )
  const blocks: readonly (() => string)[] = [
    () => line(40),
    () => `${line(20)}\n${line(20)}`,
    () => `## ${line(6)}`,
    () => `- ${line(9)}\n- ${line(30)}\n    - ${line(9)}\n- ${line(3)}`,
    () => `3. ${line(9)}\n4. ${line(30)}\n   ${line(5)}\n5. ${line(3)}`,
    () => `> ${line(20)}\n> - ${line(20)}`,
    () => `\`\`\`\n${line(9)}\n\n  ${line(20)}\n\`\`\``,
  ]
  return Array.from({ length: 1 + dice(12) }, () => blocks[dice(blocks.length)]?.()).join('\n\n')
}

const rounds = drawCount({ quick: 12, long: 80 })

test.each([40, 100, 500])('splitParts() loses nothing and keeps the order of any answer: limit %s', limit => {
  const dice = createDice(limit)
  for (let round = 0; round < rounds; round += 1) {
    const parts = [write(composeAnswer(dice)), write(composeAnswer(dice), 'text/plain')]
    const pieces = splitParts(parts, limit)
    expect(pieces.flatMap(lettersOf).join('')).toBe(lettersOf(parts))
    expect(pieces.length).toBeLessThanOrEqual(20)
    expect(Math.max(...sizesOf(pieces).slice(0, 19))).toBeLessThanOrEqual(limit)
  }
})

test.each([
  ['one letter', 'x', 1_000_000],
  ['one emoji', '😀😀', 40_000],
  ['short lines', 'x\n', 200_000],
  ['paragraphs', 'x\n\n', 30_000],
  ['headings', '# x\n', 40_000],
  ['items', '1. x\n', 40_000],
  ['quotes', '> x\n', 40_000],
  ['fences', '```\nx\n```\n', 40_000],
  ['spaces', ' ', 40_000],
  ['line ends', '\n', 40_000],
  ['asterisks', '*', 40_000],
  ['brackets', '[', 40_000],
  // Even an eighth of the text does not fit into one post, although little of a link is visible.
  ['links', '[a](https://b.test) ', 160_000],
  ['addresses', 'https://b.test/ ', 40_000],
  // The text fits into one post, and so does an eighth of it, because an address counts 23.
  ['one address', 'http://', 32_000],
  ['people', '@a@b', 40_000],
  ['backticks', '`', 40_000],
  ['full stops', '.', 40_000],
  ['quotes after full stops', '."', 40_000],
])('splitParts() takes linear time for the length: %s', (_, piece, size) => {
  for (const mime of ['text/markdown', 'text/plain'] as const) {
    expect(measureGrowth(text => splitParts([write(text, mime)], 500), piece, size)).toBeLessThan(30)
  }
})

test('splitParts() takes linear time for HTML', () => {
  expect(measureGrowth(text => splitParts([write(text, 'text/html')], 500), '<p>x</p>', 40_000)).toBeLessThan(30)
})

test('splitParts() takes linear time for nested lists and quotes', () => {
  for (const piece of ['- ', '> ', '>', '> - ']) {
    expect(measureGrowth(text => splitParts([write(`${text}end`)], 500), piece, 16_000)).toBeLessThan(30)
  }
})

test('splitParts() takes linear time for a list that nests ever deeper', () => {
  const nest = (text: string) => Array.from({ length: Math.sqrt(text.length) }, (_, at) => `${' '.repeat(2 * at)}- x`)
  expect(measureGrowth(text => splitParts([write(nest(text).join('\n'))], 500), 'x', 80_000)).toBeLessThan(30)
})
