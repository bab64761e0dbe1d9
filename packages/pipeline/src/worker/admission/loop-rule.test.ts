import { defaultLoopLimits } from '@postern/message'
import { expect, test } from 'vitest'
import type { Intake } from '../../ports/records/intake.ts'
import type { LoopMemory } from './loop-rule.ts'
import { createLoopRule, findLoop } from './loop-rule.ts'

const limits = defaultLoopLimits

/** Returns a memory of these texts, newest first. `persons` lists the positions at which a person spoke. */
function createMemory(texts: readonly string[], persons: readonly number[] = []): LoopMemory {
  return {
    senders: texts.map((_, at) => !persons.includes(at)),
    texts,
  }
}

const createReport = (n: number) =>
  `I am out of office until March ${n}. In urgent cases please call my colleague, ticket ${n}.`
const manyWords =
  'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon'.split(' ')
/** Returns texts that share no triple of words with each other. */
const createDistinctText = (n: number) =>
  manyWords.map((word, at) => (at % 3 === n % 3 ? `${word}${'x'.repeat(n)}` : word)).join(' ')

test('the gateway stops agents after a number of turns without a person, whatever their text', () => {
  const turns = Array.from({ length: 20 }, (_, n) => createDistinctText(n + 1))
  const incoming = { isFromAgent: true, text: 'something else entirely' }
  expect(findLoop(incoming, createMemory(turns), limits)).toBe('no_person')
  expect(findLoop(incoming, createMemory(turns.slice(1)), limits)).toBe(undefined)
  expect(findLoop(incoming, createMemory(turns, [7]), limits)).toBe(undefined)
  expect(findLoop({ ...incoming, isFromAgent: false }, createMemory(turns), limits)).toBe(undefined)
})

test('the gateway stops an agent that repeats itself for the fourth time, with any numbers and names', () => {
  const incoming = { isFromAgent: true, text: createReport(9) }
  expect(findLoop(incoming, createMemory([createReport(1), createReport(22), createReport(333)]), limits)).toBe(
    'same_words',
  )
  expect(findLoop(incoming, createMemory([createReport(1), createReport(22)]), limits)).toBe(undefined)
  expect(
    findLoop(incoming, createMemory([createReport(1), 'no, wait', createReport(22), createReport(333)]), limits),
  ).toBe(undefined)
  expect(findLoop({ isFromAgent: true, text: 'pong' }, createMemory(['pong', 'pong', 'pong']), limits)).toBe(
    'same_words',
  )
})

/** Returns twenty-two words, which have twenty triples. Changing the last `changed` words changes as many triples. */
const changeEnd = (changed: number) =>
  [...manyWords, 'phi', 'chi', 'psi']
    .slice(0, 22)
    .map((word, at) => (at < 22 - changed ? word : `${word}x`))
    .join(' ')

test.each([
  ['an agent', true, 0, 'same_words'],
  ['an agent', true, 4, 'same_words'],
  ['an agent', true, 5, undefined],
  ['a person', false, 2, 'same_words'],
  ['a person', false, 3, undefined],
] as const)(
  'texts of %s (%s) count as equal up to four fifths of their word triples: %i of 20 changed: %s',
  (...args) => {
    const [, isFromAgent, changed, sign] = args
    expect(findLoop({ isFromAgent, text: changeEnd(changed) }, createMemory(Array(6).fill(changeEnd(0))), limits)).toBe(
      sign,
    )
  },
)

test('people may repeat a text of fewer than eight word triples', () => {
  const say = (words: number) => manyWords.slice(0, words).join(' ')
  const repeat = (words: number) =>
    findLoop({ isFromAgent: false, text: say(words) }, createMemory(Array(6).fill(say(words))), limits)
  expect([repeat(9), repeat(10)]).toEqual([undefined, 'same_words'])
})

test('growing echoes count as equal', () => {
  const echo = (text: string) => `> ${text.replaceAll('\n', '\n> ')}\n\n- From: @a@a.test\n- Proven by: http signature`
  const firstEcho = echo('hello there')
  const [second, third] = [echo(firstEcho), echo(echo(firstEcho))]
  expect(findLoop({ isFromAgent: true, text: echo(third) }, createMemory([third, second, firstEcho]), limits)).toBe(
    'same_words',
  )
})

test('people may repeat a short message often, and a longer one less often', () => {
  const person = (text: string) => ({ isFromAgent: false, text })
  expect(findLoop(person('status please'), createMemory(Array(9).fill('status please')), limits)).toBe(undefined)
  expect(findLoop(person(createReport(1)), createMemory(Array(5).fill(createReport(2))), limits)).toBe(undefined)
  expect(findLoop(person(createReport(1)), createMemory(Array(6).fill(createReport(2))), limits)).toBe('same_words')
  expect(findLoop(person(''), createMemory(Array(9).fill('')), limits)).toBe(undefined)
})

test('the rule limits only messages that start a turn', () => {
  const { admit } = createLoopRule(limits)
  const sender = { address: '@b@b.test' }
  const intake = (overrides: Partial<Intake>) =>
    ({ agent: 'a', message: { kind: 'message', sender }, disposition: 'answer', ...overrides }) as unknown as Intake
  const limitedIntakes = [
    intake({}),
    intake({ flags: ['from_agent'] }),
    intake({ flags: ['from_agent'], disposition: 'keep' }),
    intake({ flags: ['from_agent'], task: { owner: 'o', id: 't', context: 'c' } }),
    intake({ message: { kind: 'follow' } as never }),
  ].map(each => admit?.(each))
  expect(
    limitedIntakes.map(each => [each?.loop, each?.budgets?.map(({ key, turns, flag }) => [key, turns, flag])]),
  ).toEqual([
    [limits, undefined],
    [
      limits,
      [
        ['agents', 10, 'loop_guard'],
        ['agents a @b@b.test', 60, 'loop_guard'],
      ],
    ],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, undefined],
  ])
})
