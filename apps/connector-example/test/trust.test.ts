import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { MessageRecord } from '@postern/pipeline'
import { afterEach, expect, test } from 'vitest'
import type { ConnectorKeyRing } from '../src/issuer/key-ring.ts'
import { openKeyRing } from '../src/issuer/key-ring.ts'
import { issueToken, vouchForPerson } from '../src/issuer/vouch.ts'
import type { ChatOptions, ConnectorGateway } from './gateway.ts'
import { openConnectorGateway } from './gateway.ts'

let deps: ConnectorGateway | undefined

afterEach(() => deps?.close())

async function open(options?: ChatOptions): Promise<ConnectorGateway> {
  deps = await openConnectorGateway(options)
  return deps
}

const proofsOf = (record: MessageRecord | undefined) =>
  record?.proofs.map(({ kind, verdict, code }) => [kind, verdict, code])
const person = { id: 'ann-0000', name: 'Ann' }
const audience = '@teller@agents.test'

interface ByHand {
  readonly tokenKeys: ConnectorKeyRing
  readonly evidenceKeys: ConnectorKeyRing
}

/** Makes a call as the connector does, but with given keys. */
async function callByHand(
  { config, gatewayUrl }: ConnectorGateway,
  { tokenKeys, evidenceKeys }: ByHand,
): Promise<string> {
  const url = 'https://agents.test/agents/teller/a2a'
  const messageId = randomUUID()
  const vouched = vouchForPerson(
    { room: 'lobby', person, audience, messageId },
    { config, keys: evidenceKeys, now: Date.now },
  )
  const metadata = { mentionable: { ...vouched, mention_relay: { kind: 'inline' } } }
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: 'hi' }], metadata }
  const response = await fetch(`${gatewayUrl}/agents/teller/a2a`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${issueToken(url, config, tokenKeys, Date.now())}`,
      'content-type': 'application/json',
      'a2a-version': '1.0',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
  })
  const text = await response.text()
  return /heard: [^"]*/.exec(text)?.[0] ?? `${response.status} ${text}`
}

test('an agent still runs for a forged attestation, which proves nothing (MN-6.3)', async () => {
  const { config, directory } = await open()
  const ownKeyRing = await openKeyRing(config.keyFile, Date.now)
  const forger = await openKeyRing(join(directory, 'forged.json'), Date.now)
  const { kid } = ownKeyRing.signing()
  const forgedKeyRing = { ...forger, signing: () => ({ ...forger.signing(), kid }) }
  const text = await callByHand(deps as ConnectorGateway, { tokenKeys: ownKeyRing, evidenceKeys: forgedKeyRing })
  expect(text).toBe('heard: hi | inline | no chain | chat-room by https://chat.test (transport)')
  const [record] = await (deps as ConnectorGateway).messages()
  expect(proofsOf(record)).toEqual([
    ['jwt', 'pass', undefined],
    ['identity-evidence', 'fail', 'invalid-signature'],
  ])
})

test('the gateway refuses a forged connector (MN-11)', async () => {
  const { directory } = await open()
  const forger = await openKeyRing(join(directory, 'forged.json'), Date.now)
  const text = await callByHand(deps as ConnectorGateway, { tokenKeys: forger, evidenceKeys: forger })
  expect(text).toMatch(/^401 .*key is not one of its issuer/)
  expect(await (deps as ConnectorGateway).messages()).toEqual([])
})

test('the gateway treats an untrusted connector as any other caller (MN-6.3, MN-8.1)', async () => {
  const { connector } = await open({ issuers: [], connectors: [] })
  const ann = await (deps as ConnectorGateway).logIn('Ann')
  await ann.sayInRoom('@teller hello')
  await connector.idle()
  expect((await ann.answers()).at(-1)).toBe(
    `${audience}: heard: hello | none | no chain | chat-room by https://chat.test (transport)`,
  )
  const [record] = await (deps as ConnectorGateway).messages()
  expect(record?.message.sender.profile).toBe(undefined)
  expect(proofsOf(record)).toEqual([
    ['jwt', 'pass', undefined],
    ['identity-evidence', 'policy', 'untrusted-issuer'],
  ])
})

test('a trusted connector cannot speak for people outside its prefixes (MN-6.3)', async () => {
  const { connector } = await open({ prefixes: ['room:lobby/'] })
  const ann = await (deps as ConnectorGateway).logIn('Ann')
  await ann.postForm('/rooms', { csrf: await ann.formToken(), name: 'lobby2' })
  await ann.sayInRoom('@teller hello', 'lobby2')
  await connector.idle()
  expect((await ann.answers('lobby2')).at(-1)).toMatch(/\| chat-room by https:\/\/chat\.test \(transport\)$/)
  expect(proofsOf((await (deps as ConnectorGateway).messages())[0])?.[1]).toEqual([
    'identity-evidence',
    'policy',
    'untrusted-subject',
  ])
  await ann.sayInRoom('@teller hello')
  await connector.idle()
  expect((await ann.answers()).at(-1)).toMatch(/room:lobby\/ann-\w+ by chat\.test/)
})

test('after a rotation the card has both keys, and signatures by either key are valid (MN-11)', async () => {
  let behind = 55_000
  const { connector, config } = await open({ now: () => Date.now() - behind, credentials: true })
  const readJson = async (path: string) => (await connector.app.request(path)).json()
  const kids = async () => {
    const card = await readJson('/.well-known/adapter-card')
    return [card.keys, card.previous_keys].map((keys: { kid: string }[]) => keys.map(({ kid }) => kid))
  }
  const ann = await (deps as ConnectorGateway).logIn('Ann')
  const askTeller = async () => {
    await ann.sayInRoom('@teller hello')
    await connector.idle()
    const [record] = await (deps as ConnectorGateway).messages()
    return record?.proofs.map(({ verdict, key_id }) => [verdict, key_id?.split('#').at(-1)])
  }
  const [[firstKid]] = (await kids()) as [[string], string[]]
  const oldKey = (await openKeyRing(config.keyFile, Date.now)).signing()
  const next = await connector.rotateKeys()
  // The new key is published, so that every reader can know it, and the old one still signs.
  expect(await kids()).toEqual([[firstKid, next], []])
  expect(await askTeller()).toEqual([
    ['pass', firstKid],
    ['pass', firstKid],
    ['pass', firstKid],
  ])
  behind = -6_000
  expect(await kids()).toEqual([[next], [firstKid]])
  expect(await askTeller()).toEqual([
    ['pass', next],
    ['pass', next],
    ['pass', next],
  ])
  const did = await readJson('/.well-known/did.json')
  expect(did.assertionMethod).toEqual([next, firstKid].map(kid => `did:web:chat.test#${kid}`))
  const ring = await openKeyRing(config.keyFile, () => Date.now() + 6_000)
  const text = await callByHand(deps as ConnectorGateway, {
    tokenKeys: ring,
    evidenceKeys: { ...ring, signing: () => oldKey },
  })
  expect(text).toContain('room:lobby/ann-0000 by chat.test (signed-attestation)')
  behind = -25 * 3_600_000
  expect(await kids()).toEqual([[next], []])
})
