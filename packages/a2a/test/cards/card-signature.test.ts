import { verifyAgentCardSignature } from '@a2a-js/sdk'
import { canonicalizeJson } from '@postern/message'
import type { AgentProfile } from '@postern/pipeline'
import { createLocalJWKSet, flattenedVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createOwnKeyRing, retiredKeyMs } from '../../src/keys/own-keys.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
const rootCardPath = '/.well-known/agent-card.json'
const keySetPath = '/.well-known/jwks.json'

beforeEach(async () => {
  const profiles = { echo: { displayName: 'Büro 旅😀 ﬁ', description: 'ע“x”\\ \u0301\ud800' } }
  gateway = await openA2aGateway({ runsWorker: false, profiles })
})
afterEach(() => gateway.close())

async function readJson(path: string) {
  return JSON.parse((await gateway.request(path)).text)
}

async function listKeyIds(): Promise<readonly string[]> {
  return (await readJson(keySetPath)).keys.map(({ kid }: { kid: string }) => kid)
}

/** Verifies a card with jose. Only the canonical form is our own code (RFC 7515 App. F, A2A §8.4.3). */
async function verifyServedCard(
  card: { signatures: { protected: string; signature: string }[] },
  keys: { keys: object[] },
) {
  const { signatures, ...unsignedCard } = card
  const [signature] = signatures
  if (!signature) throw new Error('not signed')
  const payload = Buffer.from(canonicalizeJson(unsignedCard)).toString('base64url')
  return flattenedVerify({ ...signature, payload }, createLocalJWKSet(keys as never))
}

describe.each([rootCardPath, `${rootCardPath}?A2A-Version=1.0`, '/agents/echo/.well-known/agent-card.json'])(
  'the card at %s (A2A-C02)',
  path => {
    test('has a signature with the id and the URL of a published key', async () => {
      const { protectedHeader } = await verifyServedCard(await readJson(path), await readJson(keySetPath))
      const [{ kid }] = (await readJson(keySetPath)).keys
      expect(protectedHeader).toEqual({ alg: 'ES256', kid, typ: 'JOSE', jku: `https://agents.test${keySetPath}` })
    })

    test('has no valid signature after a change', async () => {
      const card = await readJson(path)
      await expect(verifyServedCard({ ...card, name: 'Evil' }, await readJson(keySetPath))).rejects.toMatchObject({
        code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      })
    })
  },
)

test.each([rootCardPath, `${rootCardPath}?A2A-Version=1.0`])('the official verifier accepts %s', async path => {
  const { keys } = await readJson(keySetPath)
  const card = await readJson(path)
  expect(card.name).toBe('Büro 旅😀 ﬁ')
  expect(card.description.at(-1)).toBe('\ufffd')
  const verify = verifyAgentCardSignature(async () => keys[0])
  // The verifier logs the cards that it rejects.
  const debugLog = vi.spyOn(console, 'debug').mockImplementation(() => undefined)
  await verify(card)
  await expect(verify({ ...card, name: 'Evil' })).rejects.toThrow()
  debugLog.mockRestore()
})

test('published keys contain no secret', async () => {
  const { keys } = await readJson(keySetPath)
  expect(keys).toEqual([
    {
      kty: 'EC',
      crv: 'P-256',
      x: expect.any(String),
      y: expect.any(String),
      kid: expect.any(String),
      alg: 'ES256',
      use: 'sig',
    },
  ])
})

test('the gateway signs a card once per key, and publishes the old key for a while', async () => {
  const firstResponse = await gateway.request(rootCardPath)
  expect((await gateway.request(rootCardPath)).text).toBe(firstResponse.text)
  const [rotatedKey] = (await gateway.channel.keys?.rotate?.()) ?? []
  const secondResponse = await gateway.request(rootCardPath)
  expect(secondResponse.headers.get('etag')).not.toBe(firstResponse.headers.get('etag'))
  expect(await listKeyIds()).toEqual([rotatedKey?.id, expect.any(String)])
  await verifyServedCard(JSON.parse(firstResponse.text), await readJson(keySetPath))
  await verifyServedCard(JSON.parse(secondResponse.text), await readJson(keySetPath))
  expect((await gateway.channel.keys?.list())?.map(({ id }) => id)).toEqual(await listKeyIds())
  gateway.system.advance(retiredKeyMs)
  expect(await listKeyIds()).toEqual([rotatedKey?.id])
})

test('a revoking rotation removes the old keys from the key set at once, and the next rotation keeps its key', async () => {
  const [revokingKey] = (await gateway.channel.keys?.rotate?.(undefined, { isRevoking: true })) ?? []
  expect(await listKeyIds()).toEqual([revokingKey?.id])
  const [nextKey] = (await gateway.channel.keys?.rotate?.()) ?? []
  expect(await listKeyIds()).toEqual([nextKey?.id, revokingKey?.id])
})

test('the gateway signs a card again when its agent’s description changes', async () => {
  const firstResponse = await gateway.request(rootCardPath)
  const { agents } = gateway.gateway
  const changedProfile = { ...agents.find('echo'), description: 'Says it twice' } as AgentProfile
  Object.assign(agents, { find: () => changedProfile, list: () => [changedProfile] })
  const secondResponse = await gateway.request(rootCardPath)
  expect(secondResponse.headers.get('etag')).not.toBe(firstResponse.headers.get('etag'))
  expect(JSON.parse(secondResponse.text).description).toBe('Says it twice')
  await verifyServedCard(JSON.parse(secondResponse.text), await readJson(keySetPath))
})

test('readers of the keys never create a second one, even while the first is being made', async () => {
  const readers = () => Array.from({ length: 5 }, () => gateway.request(keySetPath))
  await Promise.all([...readers(), gateway.channel.keys?.rotate?.(), ...readers()])
  const otherKeyRing = createOwnKeyRing(gateway.gateway)
  await Promise.all([otherKeyRing.findCurrent(), otherKeyRing.listPublished(), otherKeyRing.findCurrent()])
  expect(await otherKeyRing.listPublished()).toHaveLength(2)
  expect((await readJson(keySetPath)).keys).toEqual(await otherKeyRing.listPublished())
})

describe('the extended card (A2A-A19)', () => {
  test('needs a valid credential', async () => {
    for (const token of [null, 'a.b.c']) {
      const { status, headers } = await gateway.rpc('GetExtendedAgentCard', {}, { token })
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="agents.test"/)
    }
    expect((await gateway.request('/a2a/rest/extendedAgentCard', { headers: { 'a2a-version': '1.0' } })).status).toBe(
      401,
    )
  })

  test('contains more than the public one, has a signature, and stays out of proxy caches', async () => {
    const { status, headers, body } = await gateway.rpc('GetExtendedAgentCard')
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toMatch(/private|no-store/)
    await verifyServedCard(body.result, await readJson(keySetPath))
    const uris = body.result.capabilities.extensions.map(({ uri }: { uri: string }) => uri)
    expect(uris).toContain('urn:postern:a2a:limits:v1')
    expect(JSON.stringify(await readJson(rootCardPath))).not.toContain('urn:postern:a2a:limits:v1')
  })

  test('needs a credential of a caller', async () => {
    const config = { auth: { anonymous: true }, capabilities: { extended_card: true } }
    const anonymousGateway = await openA2aGateway({ runsWorker: false, config })
    const { status, headers } = await anonymousGateway.rpc('GetExtendedAgentCard', {}, { token: null })
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="agents.test"'])
    await anonymousGateway.close()
  })
})
