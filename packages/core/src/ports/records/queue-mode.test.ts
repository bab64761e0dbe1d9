import { expect, test } from 'vitest'
import { message, transportEvidence } from '../../../test/messages.ts'
import { mergeMessages } from '../../history/history.ts'
import { identifySpeaker } from '../../people/person-commands.ts'
import type { Intake } from './intake.ts'

function speakerOf(members: Partial<Intake['message']>, rest: Partial<Intake> = {}): string | undefined {
  const { raw: _, history: __, ...told } = message()
  return identifySpeaker({ ...rest, message: { ...told, sender: proven, ...members } } as Intake)
}

const proven = {
  address: '@alice@peer.test',
  auth_method: 'ap-http-signature' as const,
  verified: true,
  identities: [transportEvidence],
} satisfies Intake['message']['sender']

test('identifySpeaker() recognizes the same sender in every message', () => {
  const [one, two] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'].map(issued_at =>
    speakerOf({
      id: issued_at,
      sender: { ...proven, identities: [{ ...transportEvidence, issued_at }] },
    }),
  )
  expect(one).toBeDefined()
  expect(two).toBe(one)
  expect(speakerOf({ kind: 'edit' })).toBe(speakerOf({}))
})

test('identifySpeaker() distinguishes senders with other rights, another audience, another hop or another author', () => {
  const evidence = transportEvidence
  const delegated = [evidence, { ...evidence, on_behalf_of: ['https://peer.test/root'] }]
  const hop = { mention_relay: { kind: 'none' }, agent_chain: { hop: 2, max_hops: 5, is_final: false } } as const
  const speakers = [
    speakerOf({}),
    speakerOf({ sender: { ...proven, address: '@other@peer.test' } }),
    speakerOf({ sender: { ...proven, identities: delegated } }),
    speakerOf({ sender: { ...proven, identities: [{ ...evidence, claims: { role: 'admin' } }] } }),
    speakerOf({ recipient_capabilities: hop }),
    speakerOf({}, { audience: 'direct' }),
    speakerOf({}, { authorship: { author: 'https://peer.test/2', object: 'o' } }),
  ]
  expect(new Set(speakers).size).toBe(speakers.length)
})

test('identifySpeaker() keeps apart messages without proof, events and decisions', () => {
  expect(speakerOf({ sender: { address: proven.address, auth_method: 'none', verified: false } })).toBeUndefined()
  expect(speakerOf({ kind: 'reaction' })).toBeUndefined()
  expect(speakerOf({ policy_resolution: { in_reply_to_state: 's' } as never })).toBeUndefined()
})

test('identifySpeaker() keeps apart commands for the gateway: no later message joins or interrupts them', () => {
  const asking = (content: string) => speakerOf({ parts: [{ kind: 'text', mime: 'text/plain', content }] })
  expect(['forget me', 'link ada@example.org', 'confirm ABCDE-FGHJK'].map(asking)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(asking('please forget me')).toBeDefined()
})

test('mergeMessages() keeps the last message with the parts of all and their authors, and reads no raw bytes', () => {
  const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const
  const earlier = [
    { ...message(), id: 'a', parts: [text('1'), text('2')] },
    { ...message(), id: 'b', parts: [] },
  ]
  const last = Object.defineProperty({ ...message(), id: 'c', parts: [text('3')] }, 'raw', {
    enumerable: true,
    get: () => {
      throw new Error('raw was read')
    },
  })
  const merged = mergeMessages(earlier, last)
  expect(merged.id).toBe('c')
  expect(merged.parts).toEqual([text('1'), text('2'), text('3')])
  expect(merged.merged?.map(({ id, part_count }) => [id, part_count])).toEqual([
    ['a', 2],
    ['b', 0],
  ])
  expect(() => merged.raw).toThrow('raw was read')
  expect(mergeMessages([], last)).toBe(last)
})
