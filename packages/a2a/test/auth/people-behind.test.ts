import type { IdentityEvidence } from '@postern/message'
import type { IdentityVerifier } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openA2aGateway } from '../setup/gateway.ts'

/** A verifier that accepts the subject that the evidence names, as of one system. */
const identity: IdentityVerifier = {
  extensions: [],
  async verify({ carriers: { identity_evidence: subject } }) {
    const shared = { issuer: 'slack.test', method: 'urn:m', assurance: 'platform', audience: '@echo@agents.test' }
    const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1' } as const
    const accepted: readonly IdentityEvidence[] = [
      { ...shared, subject: String(subject), issued_at: '2026-01-01T00:00:00.000Z', proof },
    ]
    return { accepted, left_out: [], proofs: [] }
  },
  isConnector: () => true,
}

const as = (person: string) => ({ metadata: { mentionable: { identity_evidence: person } } })

test('one person behind a connector who opens all their tasks leaves quota for the others, up to a bound for all', async () => {
  const crowded = await openA2aGateway({ works: false, identity, config: { limits: { open_tasks_per_caller: 2 } } })
  const open = async (person: string) =>
    (await crowded.say('hi', as(person), { configuration: { returnImmediately: true } })).status
  const statuses: number[] = []
  for (const person of ['U1', 'U1', 'U1', 'U2', 'U2', 'U2']) statuses.push(await open(person))
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
  const many: number[] = []
  for (let at = 0; at < 20; at += 1) many.push(await open(`V${at}`))
  expect(many.filter(status => status === 200)).toHaveLength(20 - 4)
  await crowded.close()
})

test('one person behind a connector who holds all their streams leaves streams for the others', async () => {
  const watched = await openA2aGateway({ works: false, identity, config: { limits: { streams_per_caller: 2 } } })
  const closing = new AbortController()
  const open = async (person: string) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], ...as(person) }
    const answer = await watched.channel.endpoint.routes.request('/a2a', {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        authorization: `Bearer ${watched.token}`,
      },
      signal: closing.signal,
    })
    return answer.status
  }
  const statuses: number[] = []
  for (const person of ['U1', 'U1', 'U1', 'U2', 'U2', 'U2']) statuses.push(await open(person))
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
  closing.abort()
  await watched.close()
})
