import { expect, test } from 'vitest'
import { message, transportEvidence } from '../../test/messages.ts'
import type { Intake } from '../ports/records/intake.ts'
import { createSpeakerKey } from './speaker-key.ts'

function speakerOf(members: Partial<Intake['message']>, overrides: Partial<Intake> = {}): string | undefined {
  const { raw: _, history: __, ...intakeMessage } = message()
  return createSpeakerKey({ ...overrides, message: { ...intakeMessage, sender: provenSender, ...members } } as Intake)
}

const provenSender = {
  address: '@alice@peer.test',
  auth_method: 'ap-http-signature' as const,
  verified: true,
  identities: [transportEvidence],
} satisfies Intake['message']['sender']

test('createSpeakerKey() recognizes the same sender in every message', () => {
  const [one, two] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'].map(issued_at =>
    speakerOf({
      id: issued_at,
      sender: { ...provenSender, identities: [{ ...transportEvidence, issued_at }] },
    }),
  )
  expect(one).toBeDefined()
  expect(two).toBe(one)
  expect(speakerOf({ kind: 'edit' })).toBe(speakerOf({}))
})

test('createSpeakerKey() distinguishes senders by rights, audience, hop and author', () => {
  const evidence = transportEvidence
  const delegated = [evidence, { ...evidence, on_behalf_of: ['https://peer.test/root'] }]
  const hop = { mention_relay: { kind: 'none' }, agent_chain: { hop: 2, max_hops: 5, is_final: false } } as const
  const speakers = [
    speakerOf({}),
    speakerOf({ sender: { ...provenSender, address: '@other@peer.test' } }),
    speakerOf({ sender: { ...provenSender, identities: delegated } }),
    speakerOf({ sender: { ...provenSender, identities: [{ ...evidence, claims: { role: 'admin' } }] } }),
    speakerOf({ recipient_capabilities: hop }),
    speakerOf({}, { audience: 'direct' }),
    speakerOf({}, { authorship: { author: 'https://peer.test/2', object: 'o' } }),
  ]
  expect(new Set(speakers).size).toBe(speakers.length)
})

test('createSpeakerKey() returns undefined for messages without proof, events and decisions', () => {
  expect(speakerOf({ sender: { address: provenSender.address, auth_method: 'none', verified: false } })).toBeUndefined()
  expect(speakerOf({ kind: 'reaction' })).toBeUndefined()
  expect(speakerOf({ policy_resolution: { in_reply_to_state: 's' } as never })).toBeUndefined()
})

test('createSpeakerKey() returns undefined for commands to the gateway, so that later messages neither join nor interrupt them', () => {
  const speakerOfText = (content: string) => speakerOf({ parts: [{ kind: 'text', mime: 'text/plain', content }] })
  expect(['forget me', 'link ada@example.org', 'confirm ABCDE-FGHJK'].map(speakerOfText)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(speakerOfText('please forget me')).toBeDefined()
})
