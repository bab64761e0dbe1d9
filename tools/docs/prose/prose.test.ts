import { describe, expect, test } from 'vitest'
import { checkProse, findProseFaults } from './check-prose.ts'
import { readPassages } from './passages.ts'
import { findPassive, splitSentences } from './sentences.ts'
import { findBannedWord } from './words.ts'

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ')
const rulesOf = (markdown: string, path = 'docs/start/page.md') =>
  findProseFaults(path, markdown).map(({ line, rule, words }) => [line, rule, words])

describe('findProseFaults()', () => {
  test.each([
    ['a sentence of 26 words', `# Title\n\n${words(26)}.\n`, [3, 'long-sentence', '26 words']],
    ['a long cell', `| a | b |\n| --- | --- |\n| one | ${words(26)} |\n`, [3, 'long-cell', '26 words']],
    ['a metaphor', 'Each agent has a door.\n', [1, 'word', 'door']],
    ['a former name in a heading', '# The shelf\n', [1, 'word', 'shelf']],
    ['a man', 'The sender writes, and\nhe waits.\n', [1, 'word', 'he']],
    ['passive voice', 'One line.\n\nThe message is quickly sent.\n', [3, 'passive', 'is quickly sent']],
    ['a state with its cause', 'The sender is verified by the gateway.\n', [1, 'passive', 'is verified']],
    ['a name in angle brackets', 'Run it with <name>.<br>\n', [1, 'tag', '<name>']],
    ['a clause as the subject', 'Who writes to the agent gets an answer.\n', [1, 'clause-first', 'Who']],
  ])('finds %s', (_, markdown, fault) => {
    expect(rulesOf(markdown)).toEqual([fault])
  })

  test('finds a guide of more than 800 words without code, but no such page elsewhere', () => {
    const page = `---\ntitle: x\n---\n\n${`W${words(20)}.\n`.repeat(41)}\n\`\`\`sh\n${words(900)}\n\`\`\`\n`
    expect(rulesOf(page, 'docs/guides/page.md')).toEqual([[1, 'long-page', '820 words']])
    expect(rulesOf(page)).toEqual([])
  })

  test.each([
    ['25 words', `${words(25)}.\n`],
    ['code', 'Run `it is sent by his door`.\n\n```\nHe is sent away by the door.\n```\n'],
    ['HTML', '<p>He is sent.</p>\n\n<!-- He is sent. -->\n'],
    ['a quotation', 'It prints "he is sent".\n\n> He is sent.\n'],
    ['a state', 'The sender is verified. The flag is set by default.\n'],
    ['a question, and a heading', '# What you see\n\nWhat do you see?\n'],
    [
      'words of the field',
      'ActivityPub has the double knock: it knocks twice. A double-knock test. A chat room has people.\n',
    ],
    ['a list', '- **address**: a name and a domain\n- `key`: text\n'],
  ])('finds nothing in %s', (_, markdown) => {
    expect(rulesOf(markdown)).toEqual([])
  })

  test('shows the sentence unchanged, with its first line', () => {
    const [fault] = findProseFaults('README.md', 'First one\nends here. The `x y` is\nsent away.\n')
    expect(fault).toMatchObject({ line: 2, display: 'The `x y` is sent away.' })
  })
})

test('an exempt page may have faults, and must leave the list without them', () => {
  const pages = [
    { path: 'docs/old.md', text: 'It is sent.\n' },
    { path: 'docs/new.md', text: 'The gateway sends it.\n' },
    { path: 'docs/other.md', text: 'It is sent.\n' },
  ]
  expect(checkProse([{ path: 'docs/old.md', text: 'It is <sent>.\n' }], ['docs/old.md'])).toHaveLength(1)
  expect(checkProse(pages, ['docs/old.md', 'docs/new.md', 'docs/gone.md'])).toEqual([
    'docs/other.md:1  passive  "is sent"  (say who does it: subject, verb, object)\n    It is sent.',
    'tools/docs/prose/exempt.txt: remove docs/new.md, which has no fault or is not there',
    'tools/docs/prose/exempt.txt: remove docs/gone.md, which has no fault or is not there',
  ])
})

test.each([
  ['it was not found', 'was not found'],
  ['it gets lost by the peer', 'gets lost'],
  ['mails that have been dropped', 'been dropped'],
  ['it isn’t kept', 'isn’t kept'],
  ['it is then, and only then, sent', undefined],
  ['it is indeed red', undefined],
  ['the agent is able to answer', undefined],
  ['a well-formed request is well-formed', undefined],
  ['it is signed by default', undefined],
])('the check finds in "%s" the passive %j', (text, passive) => {
  expect(findPassive(text)).toBe(passive)
})

test.each([
  ['chat rooms', undefined],
  ['has room for one', 'has room'],
  ['the history', undefined],
  ['a household name', undefined],
  ['the ways in', 'ways in'],
  ['mended', 'mended'],
])('the check finds in "%s" the banned word %j', (text, banned) => {
  expect(findBannedWord(text)?.words).toBe(banned)
})

test.each([
  ['One, e.g. Two. Three', ['One, e.g. Two.', 'Three']],
  ['See `a.b. C`. Then (RFC 9421 §3.1) go.', ['See `a.b. C`.', 'Then (RFC 9421 §3.1) go.']],
  ['Version 1.0 is out! `x` follows.', ['Version 1.0 is out!', '`x` follows.']],
  ['no end, no capital. but more', ['no end, no capital. but more']],
])('the check splits %j into its sentences', (markdown, sentences) => {
  expect(
    readPassages(markdown)
      .flatMap(splitSentences)
      .map(({ display }) => display),
  ).toEqual(sentences)
})
