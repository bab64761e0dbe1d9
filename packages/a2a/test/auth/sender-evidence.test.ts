import type { IdentityEvidence } from '@postern/message'
import type { EvidenceClaim, IdentityVerifier } from '@postern/pipeline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openGrpcClient } from '../setup/grpc-client.ts'

const evidence: IdentityEvidence = {
  subject: 'slack:T123/U1',
  issuer: 'slack.test',
  method: 'urn:m',
  assurance: 'platform',
  audience: '@echo@agents.test',
  issued_at: '2026-01-01T00:00:00.000Z',
  proof: { type: 'signed-attestation', alg: 'EdDSA', kid: 'k1' },
}
const proof = { kind: 'identity-evidence', verdict: 'pass' } as const

let gateway: A2aTestGateway
let claims: EvidenceClaim[]

beforeEach(async () => {
  claims = []
  const identity: IdentityVerifier = {
    extensions: [],
    async verify(claim) {
      claims.push(claim)
      return { accepted: [evidence], left_out: [], proofs: [proof] }
    },
    isConnector: ({ issuer }) => issuer === gateway.issuer.issuer,
  }
  gateway = await openA2aGateway({ identity, config: { auth: { anonymous: true }, grpc: { port: 0 } } })
})
afterEach(() => gateway.close())

const carriers = { identity_evidence: [{ n: 1, deep: { text: 'ü', none: null } }], verifiable_credentials: [] }
const metadata = { mentionable: { ...carriers, other: true } }

describe('forwarded evidence (MN-6.4)', () => {
  test('counts for the agent’s address and the message id, and the agent gets it unchanged', async () => {
    await gateway.sendText('hi', { messageId: 'm-9', metadata })
    const sender = expect.stringContaining(`${gateway.issuer.issuer} sub `)
    expect(claims).toEqual([{ audience: '@echo@agents.test', messageId: 'm-9', sender, carriers }])
    expect(gateway.receivedMessages[0]?.sender.identities?.map(({ proof: { type } }) => type)).toEqual([
      'transport',
      'signed-attestation',
    ])
    expect((await gateway.store.findMessage('m-9'))?.proofs).toMatchObject([{ kind: 'jwt' }, proof])
  })

  test('works over gRPC too', async () => {
    const listener = await gateway.channel.endpoint.listen?.()
    const client = openGrpcClient(listener?.port ?? 0)
    const part = { content: { $case: 'text', value: 'hi' }, metadata: undefined, filename: '', mediaType: '' }
    const ids = { messageId: 'g-1', contextId: '', taskId: '', extensions: [], referenceTaskIds: [] }
    const request = {
      tenant: '',
      message: { ...ids, role: 1, parts: [part], metadata },
      configuration: undefined,
      metadata: {},
    }
    const credentials = { authorization: `Bearer ${gateway.token}`, 'a2a-version': '1.0' }
    const { status } = await client.call('sendMessage', request, { metadata: credentials })
    client.close()
    await listener?.close()
    expect([status.code, claims]).toMatchObject([0, [{ audience: '@echo@agents.test', messageId: 'g-1', carriers }]])
    const record = await gateway.store.findMessage('g-1')
    expect(JSON.stringify(record?.message.raw)).not.toContain('identity_evidence')
    expect(JSON.stringify(record?.message.raw)).toContain('"other":true')
  })

  test('counts for a caller without credentials, who stays unverified', async () => {
    await gateway.sendText('hi', { metadata }, { token: null })
    expect(claims[0]?.sender).toBeUndefined()
    expect(gateway.receivedMessages[0]?.sender).toMatchObject({
      verified: false,
      auth_method: 'none',
      identities: [evidence],
    })
  })

  test.each([
    ['none', undefined],
    ['no namespace', { other: 1 }],
    ['a namespace that is none', { mentionable: 'x' }],
    ['null in both places', { mentionable: { identity_evidence: null, verifiable_credentials: null } }],
  ])('causes no request to an issuer if it is %s', async (_, evidence) => {
    await gateway.sendText('hi', { ...(evidence && { metadata: evidence }) })
    expect([claims, gateway.receivedMessages[0]?.sender.identities?.length]).toEqual([[], 1])
  })

  test('still counts after the gateway refused its message for another reason', async () => {
    const unknown = await gateway.sendText('hi', { metadata, taskId: '00000000-0000-4000-8000-000000000000' })
    const messageWithChain = { mentionable: { ...carriers, agent_chain: { hop: 99, max_hops: 99 } } }
    const tooFar = await gateway.sendText('hi', { metadata: messageWithChain })
    const empty = await gateway.sendText('hi', { metadata, parts: [] })
    expect([unknown.body.error?.message, tooFar.status, empty.body.error?.code]).toEqual([
      'Task not found',
      403,
      -32602,
    ])
    expect(claims).toEqual([])
  })
})

describe('mention_relay (MN-8.1)', () => {
  const relayOf = async (token?: null) => {
    await gateway.sendText('hi', { metadata: { mentionable: { mention_relay: { kind: 'inline' } } } }, { token })
    return gateway.receivedMessages.at(-1)?.recipient_capabilities.mention_relay
  }

  test('comes from a connector about mentions on its platform', async () => {
    expect(await relayOf()).toEqual({ kind: 'inline' })
  })

  test('comes from nobody else, and the log says so', async () => {
    expect(await relayOf(null)).toEqual({ kind: 'none' })
    expect(gateway.system.logged.map(({ text }) => text)).toContain('mention relay of a message ignored')
  })
})
