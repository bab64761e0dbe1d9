import type { IdentityEvidence } from '@postern/message'
import type { IdentityVerifier } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { openA2aGateway } from '../setup/gateway.ts'

/** A verifier that accepts the subject that the evidence names, as of one system. */
const identity: IdentityVerifier = {
  extensions: [],
  async verify({ carriers: { identity_evidence: subject } }) {
    const sharedMembers = {
      issuer: 'slack.test',
      method: 'urn:m',
      assurance: 'platform',
      audience: '@echo@agents.test',
    }
    const proof = { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1' } as const
    const acceptedEvidence: readonly IdentityEvidence[] = [
      { ...sharedMembers, subject: String(subject), issued_at: '2026-01-01T00:00:00.000Z', proof },
    ]
    return { accepted: acceptedEvidence, left_out: [], proofs: [] }
  },
  isConnector: () => true,
}

const as = (person: string) => ({ metadata: { mentionable: { identity_evidence: person } } })

test('a person behind a connector who opens all their tasks leaves quota for others, up to a common bound', async () => {
  const busyGateway = await openA2aGateway({
    runsWorker: false,
    identity,
    config: { limits: { open_tasks_per_caller: 2 } },
  })
  const openTask = async (person: string) =>
    (await busyGateway.sendText('hi', as(person), { configuration: { returnImmediately: true } })).status
  const statuses: number[] = []
  for (const person of ['U1', 'U1', 'U1', 'U2', 'U2', 'U2']) statuses.push(await openTask(person))
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
  const many: number[] = []
  for (let index = 0; index < 20; index += 1) many.push(await openTask(`V${index}`))
  expect(many.filter(status => status === 200)).toHaveLength(20 - 4)
  await busyGateway.close()
})

test('a person behind a connector who holds all their streams leaves streams for others', async () => {
  const streamGateway = await openA2aGateway({
    runsWorker: false,
    identity,
    config: { limits: { streams_per_caller: 2 } },
  })
  const closeStreams = new AbortController()
  const openStreamOf = async (person: string) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], ...as(person) }
    const answer = await streamGateway.channel.endpoint.routes.request('/a2a', {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }),
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        authorization: `Bearer ${streamGateway.token}`,
      },
      signal: closeStreams.signal,
    })
    return answer.status
  }
  const statuses: number[] = []
  for (const person of ['U1', 'U1', 'U1', 'U2', 'U2', 'U2']) statuses.push(await openStreamOf(person))
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
  closeStreams.abort()
  await streamGateway.close()
})
