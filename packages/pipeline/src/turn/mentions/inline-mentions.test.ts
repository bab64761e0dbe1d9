import type { AgentChain, MentionRelay, NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import { expect, test } from 'vitest'
import { createMemoryStore, turn } from '../../../test/memory-store.ts'
import type { AgentChunk } from '../../ports/agent/agent.ts'
import type { RunningAgent } from '../../ports/turn/running-agent.ts'
import { collectAnswer } from '../answer/collect-answer.ts'
import { boundInlineMentions } from './inline-mentions.ts'
import { nameLocalAgents } from './mention-fanout.ts'

function message(mention_relay: MentionRelay = { kind: 'inline' }, agent_chain?: AgentChain): NormalizedMessage {
  return {
    id: 'm',
    thread_id: 't',
    sender: { address: '@chat@x.test', auth_method: 'a2a-jwt', verified: true, identities: [] },
    recipient: '@one@a.test',
    parts: [],
    recipient_capabilities: { mention_relay, ...(agent_chain && { agent_chain }) },
    received_via: 'a2a',
    received_at: '2026-01-01T00:00:00.000Z',
    raw: null,
  }
}

const createAnswer = (content: string, ...mentions: string[]): PartialResponse => ({
  parts: [{ kind: 'text', mime: 'text/markdown', content }],
  mentions,
})
const listAddedTexts = (...args: Parameters<typeof nameLocalAgents>) =>
  nameLocalAgents(...args).map(part => 'content' in part && part.content)

test('the text of an answer names the mentioned agents (MN-8.1 inline)', () => {
  expect(listAddedTexts(message(), createAnswer('Ask them.', '@two@b.test', 'three@c.test'), 10)).toEqual([
    '\n\n@two@b.test @three@c.test',
  ])
  expect(listAddedTexts(message(), createAnswer('', '@two@b.test'), 10)).toEqual(['@two@b.test'])
})

test.each([
  ['Ask @two@b.test.', []],
  ['(@Two@B.test)', []],
  ['Ask @two@b.test.example', ['\n\n@two@b.test']],
  ['Ask x@two@b.test', ['\n\n@two@b.test']],
  ['Ask @two@bxtest', ['\n\n@two@b.test']],
])('"%s" already names its agent (MN-8.1 inline)', (text, expected) => {
  expect(listAddedTexts(message(), createAnswer(text, '@two@b.test'), 10)).toEqual(expected)
})

test('an answer names neither its own agent nor mentions over the limit, and nobody on the final hop or in refusals (MN-8.1 inline)', () => {
  expect(listAddedTexts(message(), createAnswer('', '@one@a.test', '@two@b.test', '@three@c.test'), 1)).toEqual([
    '@two@b.test',
  ])
  const finalHop = { hop: 2, max_hops: 2, is_final: true }
  expect(listAddedTexts(message({ kind: 'inline' }, finalHop), createAnswer('', '@two@b.test'), 10)).toEqual([])
  expect(listAddedTexts(message(), { ...createAnswer('', '@two@b.test'), status: 'rejected' }, 10)).toEqual([])
})

test('an answer of another relay kind gets no names (MN-8.1)', () => {
  expect(
    listAddedTexts(message({ kind: 'recipient-field', fields: ['to', 'cc'] }), createAnswer('', '@two@b.test'), 10),
  ).toEqual([])
  expect(listAddedTexts(message({ kind: 'none' }), createAnswer('', '@two@b.test'), 10)).toEqual([])
})

async function* stream(...chunks: readonly AgentChunk[]): AsyncGenerator<AgentChunk> {
  yield* chunks
}

/** Returns the text of an answer as the platform reads it, and its pieces. */
async function relayAnswer(
  answer: PartialResponse | AsyncIterable<AgentChunk>,
  {
    relay = { kind: 'inline' } as MentionRelay,
    mentions,
  }: { relay?: MentionRelay } & Pick<RunningAgent, 'mentions'> = {},
) {
  const { store } = createMemoryStore()
  const entry = { seq: 1, entryId: 'e', role: 'user', parts: [], at: '' } as const
  const provenEntry = { ...entry, author: { address: '@bob@c.test', verified: true } }
  const unprovenEntry = { ...entry, author: { address: '@carol@c.test', verified: false } }
  store.readHistory = async () => [provenEntry, unprovenEntry] as never
  const deps = { store, findAgent: () => ({ mentions }) as RunningAgent }
  const pieces: string[] = []
  const boundedAnswer = await boundInlineMentions(answer, { ...turn(1), content: message(relay) }, deps)
  const collectedAnswer = await collectAnswer(boundedAnswer, ({ parts = [] }) => pieces.push(plainTextOf(parts)))
  return { text: plainTextOf(collectedAnswer?.parts ?? []), pieces }
}

const names = 'Hi @chat@x.test, @bob@c.test, @carol@c.test, @two@b.test and @guest@d.test.'

test('the text names only the sender, people of the conversation and the agents in `mentions` (MN-8.1 inline)', async () => {
  const { text } = await relayAnswer(createAnswer(names, '@two@b.test'))
  expect(text).toBe('Hi @chat@x.test, @bob@c.test, carol@c.test, @two@b.test and guest@d.test.')
})

test('the text names nobody of the conversation with "named", and everybody with "any" (MN-8.1 inline)', async () => {
  expect((await relayAnswer(createAnswer(names), { mentions: 'named' })).text).toContain(' bob@c.test, carol@c.test')
  expect((await relayAnswer(createAnswer(names), { mentions: 'any' })).text).toBe(names)
  expect((await relayAnswer(createAnswer(names), { relay: { kind: 'none' } })).text).toBe(names)
})

test('the gateway also finds a name that begins in one chunk and ends in the next (MN-8.1 inline)', async () => {
  const { text, pieces } = await relayAnswer(
    stream('Hi @gue', 'st@d.te', 'st and @bo', 'b@c.test', { status: 'completed' }),
  )
  expect(text).toBe('Hi guest@d.test and @bob@c.test')
  expect(pieces.join('')).toBe(text)
  expect((await relayAnswer(stream('mail x', '@two@b.test now'))).text).toBe('mail x@two@b.test now')
})
