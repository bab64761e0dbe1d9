import { describe, expect, test } from 'vitest'
import { createTransportEvidence } from './identity/transport-evidence.ts'
import type { NormalizedMessage, Sender } from './message.ts'
import { normalizedMessageSchema } from './message.ts'

/** Returns a message from Alice to echo, as a channel creates it; unproven by default. */
function message(members: Partial<NormalizedMessage> = {}): NormalizedMessage {
  return {
    id: 'https://peer.test/activities/1',
    thread_id: 'https://peer.test/contexts/1',
    sender: { address: '@alice@peer.test', auth_method: 'none', verified: false },
    recipient: '@echo@agents.test',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'hello' }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'activitypub',
    received_at: '2026-01-01T00:00:00.000Z',
    raw: {},
    ...members,
  }
}

const transportEvidence = createTransportEvidence({
  method: 'ap-http-signature',
  subject: 'https://peer.test/users/alice',
  issuer: 'peer.test',
  assurance: 'address',
  audience: '@echo@agents.test',
  issuedAt: '2026-01-01T00:00:00.000Z',
  keyId: 'https://peer.test/users/alice#main-key',
})

function problemsOf(value: unknown): readonly string[] {
  const { error } = normalizedMessageSchema.safeParse(value)
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
}

function from(sender: Partial<Sender>) {
  return message({ sender: { address: '@alice@peer.test', auth_method: 'none', verified: false, ...sender } })
}

describe('normalizedMessageSchema', () => {
  test('accepts the smallest message', () => {
    expect(problemsOf(message())).toEqual([])
  })

  test('refuses a verified sender without a proof (MN-6.2, MN-2.1)', () => {
    expect(problemsOf(from({ verified: true, identities: [transportEvidence] }))).toEqual([
      'sender: auth_method "none" cannot be verified',
    ])
  })

  test.each(['ap-http-signature', 'a2a-jwt', 'email-dkim', 'fax-seal'])(
    'refuses a sender verified by %s without transport evidence',
    auth_method => {
      const problem = 'sender: a verified sender needs an identity proven by the transport'
      expect(problemsOf(from({ auth_method, verified: true }))).toEqual([problem])
      expect(problemsOf(from({ auth_method, verified: true, identities: [] }))).toEqual([problem])
      const forwarded = {
        ...transportEvidence,
        proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'k', value: 'v' },
      }
      expect(problemsOf(from({ auth_method, verified: true, identities: [forwarded as never] }))).toEqual([problem])
      expect(problemsOf(from({ auth_method, verified: true, identities: [transportEvidence] }))).toEqual([])
    },
  )

  test('accepts an unverified sender with any method', () => {
    for (const auth_method of ['ap-http-signature', 'email-dmarc', 'none'])
      expect(problemsOf(from({ auth_method }))).toEqual([])
  })

  test('keeps parts of unknown kinds unchanged (MN-4)', () => {
    const part = { kind: 'poll', options: ['a', 'b'], nested: { deep: true } }
    const parsed = normalizedMessageSchema.parse(message({ parts: [part as never] }))
    expect(parsed.parts).toEqual([part])
  })

  test('requires the kind of a mention’s transport (MN-2)', () => {
    expect(problemsOf(message({ recipient_capabilities: {} as never }))).toEqual([
      'recipient_capabilities.mention_relay: Invalid input: expected object, received undefined',
    ])
  })

  test('refuses times outside UTC', () => {
    expect(problemsOf(message({ received_at: '2026-01-01T01:00:00+01:00' }))).toEqual([
      'received_at: Invalid ISO datetime',
    ])
    expect(problemsOf(message({ received_at: 'yesterday' }))).toEqual(['received_at: Invalid ISO datetime'])
  })

  test('refuses an invalid channel name, an invalid method and an unknown kind', () => {
    for (const name of ['', 'Fax', 'a b', '-fax', `f${'a'.repeat(32)}`]) {
      expect(problemsOf(message({ received_via: name }))).toHaveLength(1)
    }
    for (const auth_method of ['', 'A', 'a--b', '<b>']) expect(problemsOf(from({ auth_method }))).toHaveLength(1)
    expect(problemsOf(message({ kind: 'poke' as never }))).toHaveLength(1)
  })

  test('keeps unknown members of a profile (MN-2.2)', () => {
    const profile = { username: 'alice', extensions: { slack: { team_id: 'T1' } } }
    expect(normalizedMessageSchema.parse(from({ profile })).sender.profile).toEqual(profile)
  })

  test('survives JSON, and writes the default kind explicitly', () => {
    const message = from({ auth_method: 'ap-http-signature', verified: true, identities: [transportEvidence] })
    expect(normalizedMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual({ ...message, kind: 'message' })
  })
})
