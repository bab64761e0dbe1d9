import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { AttestationDraft, CredentialDraft } from '@postern/identity'
import { issuePlatformCredential, signAttestation, writeConnectorCard, writeDidDocument } from '@postern/identity'
import type { MessageRecord } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'

const host = 'slack.connector.test'
const did = `did:web:${host}`
const member = 'urn:mentionable:auth:slack-workspace-member:v0.1'
const audience = '@guard@agents.test'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')

const documents: Readonly<Record<string, object>> = {
  '/.well-known/did.json': writeDidDocument(did, [{ fragment: 'k1', publicKey }]),
  '/.well-known/adapter-card': writeConnectorCard({ issuer: host, keys: [{ kid: 'k1', publicKey }] }),
}
const connector = createServer((request, response) =>
  response.end(JSON.stringify(documents[request.url ?? ''] ?? null)),
)

let gateway: TestGateway

beforeAll(async () => {
  await new Promise<void>(resolve => connector.listen(0, '127.0.0.1', resolve))
  const { port } = connector.address() as AddressInfo
  const trust = { methods: [member], assurance: ['platform', 'delegated'], subject_prefixes: ['slack:T123/'] }
  const use = '../agents/reporting/doorkeeper.ts'
  const allow = [{ method: member, issuer: did, subject_prefix: 'slack:T123/' }]
  gateway = await openTestGateway(({ network, a2a }) => ({
    network: { ...network, loopback: { ...network.loopback, [host]: port } },
    agents: {
      guard: { use },
      club: { use, allow, deny: [{ subject: 'slack:T123/BANNED' }] },
      blocking: { use, deny: [{ subject: 'mailto:alice@alice.test' }, { issuer: 'mastodon.test' }] },
    },
    identity: {
      trusted_issuers: [
        { issuer: host, ...trust },
        { issuer: did, ...trust },
      ],
      connectors: [{ issuer: a2a.issuerConfig.issuer, subject: 'slack-connector' }],
    },
  }))
})
afterAll(async () => {
  await gateway.close()
  connector.close()
})

interface Call {
  readonly to?: string
  readonly sub?: string
  readonly messageId?: string
  readonly mentionable?: object
}

interface CallResult {
  readonly status: number
  readonly text: string
  readonly messageId: string
  readonly error: string | undefined
}

/** Makes a real call over a socket. */
async function sendMessage({
  to = 'guard',
  sub = 'bob',
  messageId = randomUUID(),
  mentionable,
}: Call): Promise<CallResult> {
  const response = await fetch(`${gateway.url()}/agents/${to}/a2a`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await gateway.simulation.a2a.token({ sub })}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: {
        message: {
          messageId,
          role: 'ROLE_USER',
          parts: [{ text: 'hi' }],
          ...(mentionable && { metadata: { mentionable } }),
        },
      },
    }),
  })
  const { result, error } = (await response.json()) as {
    readonly result?: {
      readonly task: { readonly artifacts: readonly { readonly parts: readonly { readonly text: string }[] }[] }
    }
    readonly error?: { readonly message: string }
  }
  const text = result?.task.artifacts.flatMap(({ parts }) => parts.map(part => part.text)).join('') ?? ''
  return { status: response.status, text, messageId, error: error?.message }
}

function credential(messageId: string, draft: Partial<CredentialDraft> = {}) {
  const claim = { issuer: did, subject: 'slack:T123/U456', method: member, assurance: 'platform' }
  const boundClaims = { domain: audience, challenge: messageId, issuedAt: Date.now() }
  return issuePlatformCredential({ ...claim, ...boundClaims, ...draft }, { privateKey, fragment: 'k1' })
}

function attestation(draft: Partial<AttestationDraft> = {}) {
  const claim = { issuer: host, subject: 'slack:T123/U456', method: member, assurance: 'platform', audience }
  return signAttestation({ ...claim, id: randomUUID(), issuedAt: Date.now(), ...draft }, { privateKey, kid: 'k1' })
}

const vouch = (messageId: string, draft: Partial<CredentialDraft> = {}) => ({
  messageId,
  mentionable: { verifiable_credentials: [credential(messageId, draft)] },
})

const caller = () => `bob by ${gateway.simulation.a2a.issuerConfig.issuer} (transport)`
const proofsOf = ({ proofs }: MessageRecord) => proofs.map(({ kind, verdict, code }) => [kind, verdict, code])

describe('an identity attestation in a call', () => {
  test('gives the agent the identity, listed after that of the caller (MN-6.1, MN-2.1)', async () => {
    const { text, messageId } = await sendMessage(vouch(randomUUID()))
    expect(text).toBe(`a member; none; ${caller()}; slack:T123/U456 by ${did} (signed-attestation)`)
    const record = await gateway.readMessage(messageId)
    expect(proofsOf(record)).toEqual([
      ['jwt', 'pass', undefined],
      ['verifiable-credential', 'pass', undefined],
    ])
    expect(record.message.sender).toMatchObject({ verified: true, address: '@bob@issuer.test' })
  })

  test('has no effect if it names another agent, and the operator sees why', async () => {
    const { status, text, messageId } = await sendMessage(vouch(randomUUID(), { domain: '@club@agents.test' }))
    expect([status, text]).toEqual([200, `a stranger; none; ${caller()}`])
    const record = await gateway.readMessage(messageId)
    expect(proofsOf(record)).toEqual([
      ['jwt', 'pass', undefined],
      ['verifiable-credential', 'fail', 'wrong-domain'],
    ])
    expect(record.proofs[1]).toMatchObject({ reason: 'it is for another agent', issuer: did })
  })

  test('may be signed, and counts only once, also after a restart (MN-6.2)', async () => {
    const mentionable = { identity_evidence: [attestation()] }
    const member = `a member; none; ${caller()}; slack:T123/U456 by ${host} (signed-attestation)`
    expect((await sendMessage({ mentionable })).text).toBe(member)
    const { text, messageId } = await sendMessage({ mentionable })
    expect(text).toBe(`a stranger; none; ${caller()}`)
    expect(proofsOf(await gateway.readMessage(messageId))[1]).toEqual(['identity-evidence', 'fail', 'replayed'])
    await gateway.restart()
    expect((await sendMessage({ mentionable })).text).toBe(`a stranger; none; ${caller()}`)
  })

  test('may come again with a repeated message, which gets the first answer again', async () => {
    const signedCall = vouch(randomUUID())
    const first = await sendMessage(signedCall)
    expect((await sendMessage(signedCall)).text).toBe(first.text)
    const toClub = { to: 'club', ...vouch(randomUUID(), { domain: '@club@agents.test' }) }
    const [firstResult, secondResult] = [await sendMessage(toClub), await sendMessage(toClub)]
    expect([firstResult.status, secondResult.status, secondResult.text]).toEqual([200, 200, firstResult.text])
    expect((await sendMessage({ ...toClub, sub: 'mallory' })).status).toBe(403)
    expect((await sendMessage({ ...signedCall, mentionable: { verifiable_credentials: [] } })).text).toBe(first.text)
    expect((await gateway.readMessage(first.messageId)).duplicates).toBe(2)
  })

  test.each(['1.0', '0.3', 'HTTP+JSON'])('counts by %s, and the store does not keep it', async form => {
    const messageId = randomUUID()
    const secret = `secret-${randomUUID()}`
    const bearer = { ...attestation(), proof: { type: 'bearer-token', verified_by: 'slack', token: secret } }
    const signed = credential(messageId)
    const envelope = attestation()
    const carriers = { verifiable_credentials: [signed], identity_evidence: [envelope, bearer] }
    const metadata = { mentionable: { ...carriers, kept: 'this stays' } }
    await sendBy(form, { messageId, metadata })
    const record = await eventually(async () => {
      const record = await gateway.readMessage(messageId)
      return record.state === 'answered' && record
    })
    expect(record.message.sender.identities).toHaveLength(3)
    expect(JSON.stringify(record.message.raw)).toContain('this stays')
    const { proofValue } = signed.proof as { readonly proofValue: string }
    const { value = '' } = envelope.proof as { readonly value?: string }
    const text = JSON.stringify(record)
    for (const credentialOfSomebody of [secret, proofValue, value]) {
      expect(text).not.toContain(credentialOfSomebody)
      expect(isStored(credentialOfSomebody)).toBe(false)
    }
    // This call shows that the search finds a stored message.
    expect(isStored(messageId)).toBe(true)
  })
})

/** Sends one message in one of the forms that the endpoint accepts. */
async function sendBy(form: string, message: { readonly messageId: string; readonly metadata: object }): Promise<void> {
  const isRest = form === 'HTTP+JSON'
  const isOld = form === '0.3'
  const requestBody = isOld
    ? { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }], ...message }
    : { role: 'ROLE_USER', parts: [{ text: 'hi' }], ...message }
  const params = { message: requestBody, metadata: message.metadata }
  const rpc = { jsonrpc: '2.0', id: 1, method: isOld ? 'message/send' : 'SendMessage', params }
  const response = await fetch(`${gateway.url()}/agents/guard/a2a${isRest ? '/rest/message:send' : ''}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'bob' })}`,
      'content-type': isRest ? 'application/a2a+json' : 'application/json',
      ...(!isOld && { 'a2a-version': '1.0' }),
    },
    body: JSON.stringify(isRest ? params : rpc),
  })
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('a member')])
}

/** Returns true if any file of the store, including the write-ahead log, contains this text. */
function isStored(text: string): boolean {
  return readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .some(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(text))
}

describe('the allow and deny lists', () => {
  test('refuse an A2A caller outside the list, and the operator sees it', async () => {
    const { status, error, messageId } = await sendMessage({ to: 'club' })
    expect([status, error]).toEqual([403, 'Cannot take message: its sender may not speak to this agent'])
    const { items: refusals } = await gateway.requestOperator<{ items: { code: string; reason: string }[] }>(
      '/refusals?limit=5',
    )
    expect(refusals[0]).toMatchObject({ code: 'forbidden', reason: error })
    expect((await gateway.messages()).some(({ id }) => id === messageId)).toBe(false)
  })

  test('admit an A2A caller with an identity of the one trusted issuer, unless a rule denies them (MN-6.3)', async () => {
    const domain = '@club@agents.test'
    expect((await sendMessage({ to: 'club', ...vouch(randomUUID(), { domain }) })).text).toContain('a member')
    const banned = vouch(randomUUID(), { domain, subject: 'slack:T123/BANNED' })
    expect((await sendMessage({ to: 'club', ...banned })).status).toBe(403)
    const attested = { mentionable: { identity_evidence: [attestation({ audience: domain })] } }
    expect((await sendMessage({ to: 'club', ...attested })).status).toBe(403)
  })

  test('also deny callers who act on behalf of a denied person (MN-8.4)', async () => {
    const draft = { domain: '@club@agents.test', subject: 'slack:T123/BOT', assurance: 'delegated' }
    const forMember = vouch(randomUUID(), { ...draft, onBehalfOf: ['slack:T123/U456'] })
    expect((await sendMessage({ to: 'club', ...forMember })).text).toContain('a member')
    const forBanned = vouch(randomUUID(), { ...draft, onBehalfOf: ['slack:T123/U456', 'slack:T123/BANNED'] })
    expect((await sendMessage({ to: 'club', ...forBanned })).status).toBe(403)
  })

  test.each(['activitypub', 'email'] as const)(
    'keep a message by %s from the agent, while the store keeps it',
    async via => {
      for (const to of ['club', 'blocking']) {
        const { id } = await gateway.simulation.send({ via, to, text: `let me in, ${to}`, timeoutMs: 50 })
        const record = await eventually(() => gateway.readMessage(id).catch(() => undefined))
        expect([record.state, record.flags, record.response]).toEqual(['ignored', ['not_allowed'], null])
        expect(record.deliveries).toEqual([])
      }
    },
  )

  test('give no rights for the contents of a profile (MN-2.2)', async () => {
    const profile = {
      provider: 'slack',
      provider_subject: 'slack:T123/U456',
      method: member,
      subject: 'slack:T123/U456',
    }
    const mentionable = { profile, sender: { profile, identities: [attestation()] }, identities: [attestation()] }
    expect((await sendMessage({ to: 'club', mentionable })).status).toBe(403)
    expect((await sendMessage({ mentionable })).text).toBe(`a stranger; none; ${caller()}`)
  })
})

describe('mention_relay (MN-8.1)', () => {
  test('counts for a caller that the operator names as a connector (MN-1.1)', async () => {
    const { text } = await sendMessage({ sub: 'slack-connector', mentionable: { mention_relay: { kind: 'inline' } } })
    expect(text).toMatch(/^a stranger; inline; slack-connector by /)
  })

  test.each([
    ['somebody else', 'bob', { kind: 'inline' }],
    ['a connector, with a kind that nobody knows', 'slack-connector', { kind: 'telepathy' }],
    ['a connector, with no object', 'slack-connector', 'inline'],
  ])('does not count when it comes from %s', async (_, sub, mention_relay) => {
    expect((await sendMessage({ sub, mentionable: { mention_relay } })).text).toMatch(/^a stranger; none; /)
  })

  test('does not count for a caller who only forwards a connector’s evidence (MN-11)', async () => {
    const messageId = randomUUID()
    const { mentionable } = vouch(messageId)
    const { text } = await sendMessage({
      messageId,
      mentionable: { ...mentionable, mention_relay: { kind: 'inline' } },
    })
    expect(text).toMatch(/^a member; none; /)
  })
})

test('the agent cards name the supported identity extensions, and the response to a call names those in use', async () => {
  const extensionUris = ['v0.1', 'v0.2'].map(version => `https://mentionable.dev/ns/identity/${version}`)
  const readText = async (path: string) =>
    (await (await fetch(gateway.url() + path)).json()) as Card & { readonly a2a: Card }
  const ownCard = await readText('/.well-known/agent-card/guard')
  const a2a = await readText('/agents/guard/.well-known/agent-card.json')
  for (const { capabilities } of [ownCard.a2a, a2a]) {
    expect(capabilities.extensions.map(({ uri }) => uri)).toEqual(expect.arrayContaining(extensionUris))
  }
  const response = await fetch(`${gateway.url()}/agents/guard/a2a`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'bob' })}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'a2a-extensions': `urn:unknown, ${extensionUris[1]}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }),
  })
  expect(response.headers.get('a2a-extensions')).toBe(extensionUris[1])
})

interface Card {
  readonly capabilities: { readonly extensions: readonly { readonly uri: string }[] }
}
