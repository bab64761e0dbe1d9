import { verifyAgentCardSignature } from '@a2a-js/sdk'
import { canonicalizeJson } from '@postern/message'
import type { AgentProfile } from '@postern/pipeline'
import { createLocalJWKSet, flattenedVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createOwnKeyRing, retiredKeyMs } from '../../src/keys/own-keys.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
const root = '/.well-known/agent-card.json'
const keySet = '/.well-known/jwks.json'

beforeEach(async () => {
  const profiles = { echo: { displayName: 'Büro 旅😀 ﬁ', description: 'ע“x”\\ \u0301\ud800' } }
  gateway = await openA2aGateway({ works: false, profiles })
})
afterEach(() => gateway.close())

async function readJson(path: string) {
  return JSON.parse((await gateway.request(path)).text)
}

/** Verifies a card as specified, with our canonical form as the only code of ours (RFC 7515 App. F, A2A §8.4.3). */
async function verifyServed(
  card: { signatures: { protected: string; signature: string }[] },
  keys: { keys: object[] },
) {
  const { signatures, ...rest } = card
  const [signed] = signatures
  if (!signed) throw new Error('not signed')
  const payload = Buffer.from(canonicalizeJson(rest)).toString('base64url')
  return flattenedVerify({ ...signed, payload }, createLocalJWKSet(keys as never))
}

describe.each([root, `${root}?A2A-Version=1.0`, '/agents/echo/.well-known/agent-card.json'])(
  'the card at %s (A2A-C02)',
  path => {
    test('has a signature that the published keys verify and that names them', async () => {
      const { protectedHeader } = await verifyServed(await readJson(path), await readJson(keySet))
      const [{ kid }] = (await readJson(keySet)).keys
      expect(protectedHeader).toEqual({ alg: 'ES256', kid, typ: 'JOSE', jku: `https://agents.test${keySet}` })
    })

    test('has no valid signature after a change', async () => {
      const card = await readJson(path)
      await expect(verifyServed({ ...card, name: 'Evil' }, await readJson(keySet))).rejects.toMatchObject({
        code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      })
    })
  },
)

test.each([root, `${root}?A2A-Version=1.0`])('the official verifier accepts %s', async path => {
  const { keys } = await readJson(keySet)
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
  const { keys } = await readJson(keySet)
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
  const first = await gateway.request(root)
  expect((await gateway.request(root)).text).toBe(first.text)
  const [rotated] = (await gateway.channel.keys?.rotate?.()) ?? []
  const second = await gateway.request(root)
  expect(second.headers.get('etag')).not.toBe(first.headers.get('etag'))
  const kids = async () => (await readJson(keySet)).keys.map(({ kid }: { kid: string }) => kid)
  expect(await kids()).toEqual([rotated?.id, expect.any(String)])
  await verifyServed(JSON.parse(first.text), await readJson(keySet))
  await verifyServed(JSON.parse(second.text), await readJson(keySet))
  expect((await gateway.channel.keys?.list())?.map(({ id }) => id)).toEqual(await kids())
  gateway.system.advance(retiredKeyMs)
  expect(await kids()).toEqual([rotated?.id])
})

test('a revoking rotation removes the old keys from the key set at once, and the next rotation keeps its key', async () => {
  const kids = async () => (await readJson(keySet)).keys.map(({ kid }: { kid: string }) => kid)
  const [revoking] = (await gateway.channel.keys?.rotate?.(undefined, { isRevoking: true })) ?? []
  expect(await kids()).toEqual([revoking?.id])
  const [next] = (await gateway.channel.keys?.rotate?.()) ?? []
  expect(await kids()).toEqual([next?.id, revoking?.id])
})

test('the gateway signs a card again when its agent’s description changes', async () => {
  const before = await gateway.request(root)
  const { agents } = gateway.gateway
  const changed = { ...agents.find('echo'), description: 'Says it twice' } as AgentProfile
  Object.assign(agents, { find: () => changed, list: () => [changed] })
  const after = await gateway.request(root)
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  expect(JSON.parse(after.text).description).toBe('Says it twice')
  await verifyServed(JSON.parse(after.text), await readJson(keySet))
})

test('readers of the keys never create a second one, even while the first is being made', async () => {
  const readers = () => Array.from({ length: 5 }, () => gateway.request(keySet))
  await Promise.all([...readers(), gateway.channel.keys?.rotate?.(), ...readers()])
  const other = createOwnKeyRing(gateway.gateway)
  await Promise.all([other.findCurrent(), other.listPublished(), other.findCurrent()])
  expect(await other.listPublished()).toHaveLength(2)
  expect((await readJson(keySet)).keys).toEqual(await other.listPublished())
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
    await verifyServed(body.result, await readJson(keySet))
    const uris = body.result.capabilities.extensions.map(({ uri }: { uri: string }) => uri)
    expect(uris).toContain('urn:postern:a2a:limits:v1')
    expect(JSON.stringify(await readJson(root))).not.toContain('urn:postern:a2a:limits:v1')
  })

  test('needs a credential of a caller', async () => {
    const config = { auth: { anonymous: true }, capabilities: { extended_card: true } }
    const open = await openA2aGateway({ works: false, config })
    const { status, headers } = await open.rpc('GetExtendedAgentCard', {}, { token: null })
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="agents.test"'])
    await open.close()
  })
})
