import { expect, test } from 'vitest'
import type { AgentChain, MentionRelay, NormalizedMessage } from '../../message/message.ts'
import type { PartialResponse } from '../../message/response.ts'
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

const said = (content: string, ...mentions: string[]): PartialResponse => ({
  parts: [{ kind: 'text', mime: 'text/markdown', content }],
  mentions,
})
const added = (...given: Parameters<typeof nameLocalAgents>) =>
  nameLocalAgents(...given).map(part => 'content' in part && part.content)

test('MN-8.1 inline: whom an answer mentions stands in its text', () => {
  expect(added(message(), said('Ask them.', '@two@b.test', 'three@c.test'), 10)).toEqual([
    '\n\n@two@b.test @three@c.test',
  ])
  expect(added(message(), said('', '@two@b.test'), 10)).toEqual(['@two@b.test'])
})

test.each([
  ['Ask @two@b.test.', []],
  ['(@Two@B.test)', []],
  ['Ask @two@b.test.example', ['\n\n@two@b.test']],
  ['Ask x@two@b.test', ['\n\n@two@b.test']],
  ['Ask @two@bxtest', ['\n\n@two@b.test']],
])('MN-8.1 inline: "%s" names who is named in it', (text, expected) => {
  expect(added(message(), said(text, '@two@b.test'), 10)).toEqual(expected)
})

test('MN-8.1 inline: no agent mentions itself, more than the limit, from the final hop, or from a refusal', () => {
  expect(added(message(), said('', '@one@a.test', '@two@b.test', '@three@c.test'), 1)).toEqual(['@two@b.test'])
  const last = { hop: 2, max_hops: 2, is_final: true }
  expect(added(message({ kind: 'inline' }, last), said('', '@two@b.test'), 10)).toEqual([])
  expect(added(message(), { ...said('', '@two@b.test'), status: 'rejected' }, 10)).toEqual([])
})

test('MN-8.1: what is no inline relay gets no names', () => {
  expect(added(message({ kind: 'recipient-field', fields: ['to', 'cc'] }), said('', '@two@b.test'), 10)).toEqual([])
  expect(added(message({ kind: 'none' }), said('', '@two@b.test'), 10)).toEqual([])
})
