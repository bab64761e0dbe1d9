import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectorCardSchema, inspectIssuer, signAttestation, writeConnectorCard } from '../src/index.ts'
import { connectorCards } from './attestation-cases.ts'
import { audience, chatMemberMethod, connectorKey, did, host, now, otherHost } from './fixtures.ts'
import type { IdentityGateway } from './gateway.ts'
import { openIdentityGateway } from './gateway.ts'

const cardUrl = `https://${host}/.well-known/adapter-card`
const draft = {
  issuer: host,
  subject: 'slack:T123/U1',
  method: chatMemberMethod,
  assurance: 'platform',
  audience,
  issuedAt: now,
}

let gateway: IdentityGateway
beforeEach(async () => {
  gateway = await openIdentityGateway({ connectors: [{ issuer: 'https://issuer.test', subject: 'slack' }] })
})
afterEach(() => gateway.close())

describe('a connector that signs with ES256', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const card = writeConnectorCard({ issuer: host, keys: [{ kid: 'p1', publicKey }] })
  const sign = (id: string) => signAttestation({ ...draft, id }, { privateKey, kid: 'p1' })

  test('publishes a card with only the public key, and its messages prove their senders', async () => {
    expect(connectorCardSchema.parse(card).keys).toEqual([
      { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String), kid: 'p1', use: 'sig', alg: 'ES256' },
    ])
    gateway.publish({ [cardUrl]: card })
    const { accepted } = await gateway.verify({ identity_evidence: [sign('a')] })
    expect(accepted[0]?.proof).toEqual({ type: 'signed-attestation', alg: 'ES256', kid: 'p1', canonicalization: 'jcs' })
  })

  test('cannot repeat the first message under a second signature that anybody can derive from it', async () => {
    gateway.publish({ [cardUrl]: card })
    const attestation = sign('b')
    await gateway.verify({ identity_evidence: [attestation] })
    const twin = { ...attestation, proof: { ...attestation.proof, value: mirror(attestation.proof) } }
    const { left_out } = await gateway.verify({ identity_evidence: [twin] })
    expect(left_out.map(({ code }) => code)).toEqual(['replayed'])
  })
})

/** Replaces an ECDSA signature (r, s) by (r, n − s), which is valid for the same text. */
function mirror(proof: object): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const bytes = Buffer.from((proof as { readonly value: string }).value, 'base64url')
  const s = order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]).toString(
    'base64url',
  )
}

test('no RSA key can sign an attestation', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  expect(() => signAttestation(draft, { privateKey, kid: 'r' })).toThrow(
    'attestations are signed with Ed25519 or P-256 keys',
  )
})

test('the operator names connectors by issuer and subject together', () => {
  const { identity } = gateway
  expect(identity.isConnector({ issuer: 'https://issuer.test', subject: 'slack' })).toBe(true)
  expect(identity.isConnector({ issuer: 'https://issuer.test', subject: 'Slack' })).toBe(false)
  expect(identity.isConnector({ issuer: 'https://other.test', subject: 'slack' })).toBe(false)
  expect(identity.isConnector({ issuer: '', subject: '' })).toBe(false)
})

test('cards name a version if the operator trusts an issuer of it', async () => {
  expect(gateway.identity.extensions.map(({ uri }) => uri)).toEqual([
    'https://mentionable.dev/ns/identity/v0.1',
    'https://mentionable.dev/ns/identity/v0.2',
  ])
  const untrustingGateway = await openIdentityGateway({ trusted_issuers: [] })
  expect(untrustingGateway.identity.extensions).toEqual([])
  await untrustingGateway.close()
})

describe('inspectIssuer()', () => {
  const inspect = (issuer: string) => inspectIssuer(issuer, gateway.system)
  const didUrl = `https://${host}/.well-known/did.json`

  test('reports nothing for an issuer with valid keys', async () => {
    expect(await Promise.all([host, did].map(inspect))).toEqual([undefined, undefined])
  })

  test.each([
    [host, { [cardUrl]: null }, `${cardUrl} answers 404`],
    [host, { [cardUrl]: { issuer: host } }, `${cardUrl}: the card of its issuer cannot be read`],
    [
      host,
      { [cardUrl]: { issuer: otherHost, keys: [{ kty: 'OKP', kid: 'k' }] } },
      `${cardUrl}: the card belongs to another issuer`,
    ],
    [
      host,
      { [cardUrl]: { issuer: host, keys: [{ kty: 'RSA', kid: 'k' }] } },
      `${cardUrl} has no key that evidence is signed with`,
    ],
    [did, { [didUrl]: [] }, `${didUrl}: the DID document of its issuer cannot be read`],
    [did, { [didUrl]: { id: did } }, `${didUrl} has no key that evidence is signed with`],
    [did, { [didUrl]: { id: 'did:web:x.test' } }, `${didUrl}: the DID document belongs to another issuer`],
  ])('reports %s if it publishes %j', async (issuer, documents, problem) => {
    gateway.publish(documents)
    expect(await inspect(issuer)).toBe(problem)
  })

  test('reports a key document as too deep exactly when the verifier does', async () => {
    const card = connectorCards[cardUrl] as object
    const nest = (levels: number): unknown => (levels === 0 ? 1 : { a: nest(levels - 1) })
    for (const [levels, problem, codes] of [
      [15, undefined, []],
      [16, expect.stringContaining(cardUrl), ['key-unavailable']],
    ] as const) {
      const freshGateway = await openIdentityGateway()
      freshGateway.publish({ [cardUrl]: { ...card, more: nest(levels) } })
      expect(await inspectIssuer(host, freshGateway.system)).toEqual(problem)
      const attestation = signAttestation(draft, { privateKey: connectorKey.privateKey, kid: 'k1' })
      const { left_out } = await freshGateway.verify({ identity_evidence: [attestation] })
      expect(left_out.map(({ code }) => code)).toEqual(codes)
      await freshGateway.close()
    }
  })

  test('reports why the guard refuses a fetch', async () => {
    expect(await inspect('did:web:router.internal')).toMatch(/router\.internal.*address is not public/)
  })
})
