import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { issuePlatformCredential, signAttestation, writeDidDocument } from '../src/index.ts'
import {
  audience,
  connectorKey,
  did,
  host,
  member,
  messageId,
  now,
  otherDid,
  otherHost,
  otherKey,
  strangerDid,
  strangerHost,
  trustedIssuers,
} from './fixtures.ts'
import type { IdentityGateway } from './gateway.ts'
import { openIdentityGateway } from './gateway.ts'

const { privateKey, publicKey } = connectorKey
const didUrl = `https://${host}/.well-known/did.json`

let gateway: IdentityGateway
beforeEach(async () => {
  gateway = await openIdentityGateway()
})
afterEach(() => gateway.close())

type Draft = Partial<Parameters<typeof issuePlatformCredential>[0]>

function credential(draft: Draft = {}, signingKey = privateKey) {
  const base = { issuer: did, subject: 'slack:T123/U1', method: member, assurance: 'platform' }
  const bound = { domain: audience, challenge: messageId, issuedAt: now }
  return issuePlatformCredential({ ...base, ...bound, ...draft }, { privateKey: signingKey, fragment: 'key-1' })
}

function attestation(draft: Partial<Parameters<typeof signAttestation>[0]> = {}, signingKey = privateKey) {
  const base = { issuer: host, subject: 'slack:T123/U1', method: member, assurance: 'platform', audience }
  return signAttestation({ ...base, issuedAt: now, ...draft }, { privateKey: signingKey, kid: 'k1' })
}

async function codesOf(carriers: Parameters<IdentityGateway['verify']>[0], at = gateway) {
  const { accepted, left_out } = await at.verify(carriers)
  expect(left_out.length + accepted.length).toBeGreaterThan(0)
  return left_out.map(({ code }) => code)
}

const vouch = (...verifiable_credentials: unknown[]) => ({ verifiable_credentials })
const attest = (...identity_evidence: unknown[]) => ({ identity_evidence })

describe('a forged connector', () => {
  test('from an untrusted issuer causes no request', async () => {
    expect(await codesOf(vouch(credential({ issuer: strangerDid })))).toEqual(['untrusted-issuer'])
    expect(await codesOf(attest(attestation({ issuer: strangerHost })))).toEqual(['untrusted-issuer'])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('that claims to be another one, with a key of its own, proves nothing (MN-11, MN-6.3)', async () => {
    expect(await codesOf(vouch(credential({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
    expect(await codesOf(attest(attestation({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
  })

  test('gains nothing from an empty policy: then no connector counts', async () => {
    const untrustingGateway = await openIdentityGateway({ trusted_issuers: [] })
    expect(await codesOf({ ...vouch(credential()), ...attest(attestation()) }, untrustingGateway)).toEqual([
      'untrusted-issuer',
      'untrusted-issuer',
    ])
    expect(untrustingGateway.requestedUrls).toEqual([])
    await untrustingGateway.close()
  })

  test('a host and its DID are two issuers: trust in one gives no trust in the other', async () => {
    const singleIssuer = trustedIssuers.filter(({ issuer }) => issuer === host)
    const narrow = await openIdentityGateway({ trusted_issuers: [...singleIssuer] })
    expect(await codesOf(vouch(credential()), narrow)).toEqual(['untrusted-issuer'])
    expect(await codesOf(attest(attestation()), narrow)).toEqual([])
    await narrow.close()
  })
})

describe('a trusted connector with a foreign subject', () => {
  test.each(['slack:T999/U1', 'slack:T1234/U', 'slack:T12', 'teams:T123/U1', ' slack:T123/U1'])(
    'the verifier leaves out %s, and fetches nothing for it',
    async subject => {
      const codes = [
        ...(await codesOf(vouch(credential({ subject })))),
        ...(await codesOf(attest(attestation({ subject })))),
      ]
      const expectedCode = subject.startsWith(' ') ? 'malformed' : 'untrusted-subject'
      expect(codes).toEqual([expectedCode, expectedCode])
      expect(gateway.requestedUrls).toEqual([])
    },
  )

  test('slack:T123 without the slash admits slack:T123/U1 and not slack:T1234/U1', async () => {
    const [entry] = trustedIssuers.filter(({ issuer }) => issuer === did)
    const bare = await openIdentityGateway({
      trusted_issuers: entry ? [{ ...entry, subject_prefixes: ['slack:T123'] }] : [],
    })
    expect(await codesOf(vouch(credential()), bare)).toEqual([])
    expect(await codesOf(vouch(credential({ subject: 'slack:T1234/U1' })), bare)).toEqual(['untrusted-subject'])
    await bare.close()
  })

  test('cannot delegate for a subject outside its prefixes, even together with one inside', async () => {
    const principals = ['slack:T123/U1', 'slack:T999/U1', 'slack:T123/U2']
    for (const onBehalfOf of [principals, principals.toReversed(), ['slack:T999/U1']]) {
      const draft = { assurance: 'delegated', onBehalfOf }
      const codes = [...(await codesOf(vouch(credential(draft)))), ...(await codesOf(attest(attestation(draft))))]
      expect(codes).toEqual(['untrusted-delegation', 'untrusted-delegation'])
    }
    expect(gateway.requestedUrls).toEqual([])
  })

  test('entries of one issuer do not add up: each of them has to admit the whole subject', async () => {
    const entries = [
      { issuer: did, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T999/'] },
      { issuer: did, methods: ['urn:other'], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
    ]
    const mixed = await openIdentityGateway({ trusted_issuers: entries })
    expect(await codesOf(vouch(credential()), mixed)).toEqual(['untrusted-subject'])
    await mixed.close()
  })
})

test('the verifier leaves out evidence for another audience before it fetches anything (MN-6.2, MN-6.5)', async () => {
  expect(await codesOf(vouch(credential({ domain: '@echo@agents.test' })))).toEqual(['wrong-domain'])
  expect(await codesOf(attest(attestation({ audience: '@echo@agents.test' })))).toEqual(['wrong-domain'])
  expect(gateway.requestedUrls).toEqual([])
})

describe('the same evidence again', () => {
  const carriers = { ...vouch(credential()), ...attest(attestation()) }

  test('counts once', async () => {
    expect(await codesOf(carriers)).toEqual([])
    expect(await codesOf(carriers)).toEqual(['replayed', 'replayed'])
  })

  test('counts once even if it arrives many times concurrently', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => gateway.verify(carriers)))
    expect(outcomes.flatMap(({ accepted }) => accepted)).toHaveLength(2)
  })

  test('counts once for all processes, and after a restart', async () => {
    expect(await codesOf(carriers)).toEqual([])
    const second = gateway.reopen()
    const { accepted, left_out } = await second.verify({ ...gateway.binding, carriers })
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([0, ['replayed', 'replayed']])
  })

  test('counts for a repetition of the same message, which the store recognizes', async () => {
    const verify = async (sender: string | undefined, id = messageId) => {
      const { accepted } = await gateway.verify(attest(attestation()), { sender, messageId: id })
      return accepted.length
    }
    expect(await Promise.all([verify('alice'), verify('alice'), verify('alice')])).toEqual([1, 1, 1])
    expect(await verify('alice', 'another message')).toBe(0)
    // The result stays the same in every attempt of the attacker.
    for (const sender of ['mallory', 'mallory', undefined, undefined]) expect(await verify(sender)).toBe(0)
    expect(await verify('alice')).toBe(1)
    const restarted = await gateway
      .reopen()
      .verify({ ...gateway.binding, sender: 'alice', carriers: attest(attestation()) })
    expect(restarted.accepted).toHaveLength(1)
  })

  test('of somebody who proves nothing counts once', async () => {
    expect((await gateway.verify(attest(attestation()))).accepted).toHaveLength(1)
    expect((await gateway.verify(attest(attestation()))).accepted).toHaveLength(0)
    expect((await gateway.verify(attest(attestation()), { sender: 'alice' })).accepted).toHaveLength(0)
  })

  test('counts as the same when another credential carries it for the same message', async () => {
    expect(await codesOf(vouch(credential()))).toEqual([])
    expect(await codesOf(vouch(credential({ subject: 'slack:T123/U2' })))).toEqual(['replayed'])
  })

  test('several of one issuer that come together for one message count together', async () => {
    expect(
      await codesOf(vouch(credential(), credential({ method: 'urn:mentionable:auth:platform-mention:v0.1' }))),
    ).toEqual([])
  })

  test('bad evidence uses nothing up', async () => {
    expect(await codesOf(vouch(credential({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
    expect(await codesOf(vouch(credential()))).toEqual([])
  })

  test('stays in the memory of the store to its last moment', async () => {
    const longLived = { ...vouch(credential({ lifetimeMs: 600_000 })), ...attest(attestation({ lifetimeMs: 600_000 })) }
    expect(await codesOf(longLived)).toEqual([])
    gateway.setTime(now + 600_000 + 59_999)
    expect(await codesOf(longLived)).toEqual(['replayed', 'replayed'])
    gateway.setTime(now + 600_000 + 60_000)
    expect(await codesOf(longLived)).toEqual(['expired', 'expired'])
  })
})

describe('the edges of the clock', () => {
  test.each([
    [-60_001, 'not-yet-valid'],
    [-60_000, undefined],
    [0, undefined],
    [359_999, undefined],
    [360_000, 'expired'],
  ])('lives for a limited time, at %d ms from its making', async (offset, code) => {
    gateway.setTime(now + offset)
    const expectedCodes = code === undefined ? [] : [code, code]
    expect(await codesOf({ ...vouch(credential()), ...attest(attestation()) })).toEqual(expectedCodes)
  })

  test('a slow key server does not extend its lifetime', async () => {
    gateway.onNextRequest(() => gateway.setTime(now + 360_000))
    expect(await codesOf(vouch(credential()))).toEqual(['expired'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })
})

describe('keys', () => {
  test('stay in the cache for five minutes after one fetch', async () => {
    expect(await codesOf(vouch(credential()))).toEqual([])
    expect(await codesOf(vouch(credential({ challenge: 'other' })))).toEqual(['challenge-mismatch'])
    gateway.setTime(now + 299_000)
    await gateway.verify(vouch(credential({ issuedAt: now + 299_000, challenge: 'm2' })), { messageId: 'm2' })
    expect(gateway.requestedUrls).toEqual([didUrl])
    gateway.setTime(now + 300_000)
    await gateway.verify(vouch(credential({ issuedAt: now + 300_000, challenge: 'm3' })), { messageId: 'm3' })
    expect(gateway.requestedUrls).toEqual([didUrl, didUrl])
  })

  test('that are new cause a fetch, but at most one every half minute', async () => {
    await gateway.verify(vouch(credential()))
    const issue = (challenge: string) =>
      issuePlatformCredential(
        {
          issuer: did,
          subject: 'slack:T123/U1',
          method: member,
          assurance: 'platform',
          domain: audience,
          challenge,
          issuedAt: now,
        },
        { privateKey: otherKey.privateKey, fragment: 'key-2' },
      )
    gateway.publish({ [didUrl]: writeDidDocument(did, [{ fragment: 'key-2', publicKey: otherKey.publicKey }]) })
    const earlyVerdict = await gateway.verify(vouch(issue('m2')), { messageId: 'm2' })
    expect(earlyVerdict.left_out.map(({ code }) => code)).toEqual(['invalid-signature'])
    gateway.setTime(now + 30_000)
    const lateVerdict = await gateway.verify(vouch(issue('m3')), { messageId: 'm3' })
    expect(lateVerdict.accepted).toHaveLength(1)
    expect(gateway.requestedUrls).toHaveLength(2)
  })

  test('for which many messages wait take one fetch', async () => {
    const ids = ['m1', 'm2', 'm3', 'm4']
    await Promise.all(ids.map(challenge => gateway.verify(vouch(credential({ challenge })), { messageId: challenge })))
    expect(gateway.requestedUrls).toHaveLength(1)
  })

  test('cause no second fetch right after a failure', async () => {
    gateway.publish({ [didUrl]: null })
    expect(await codesOf(vouch(credential()))).toEqual(['key-unavailable'])
    gateway.publish({ [didUrl]: writeDidDocument(did, [{ fragment: 'key-1', publicKey }]) })
    expect(await codesOf(vouch(credential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toHaveLength(1)
    gateway.setTime(now + 5_000)
    expect(await codesOf(vouch(credential()))).toEqual([])
  })

  test.each([
    ['the fetch does not follow a redirect', (response: Response) => redirect(response)],
    [
      'the fetch does not read more than 64 KiB',
      (response: Response) => response.end(JSON.stringify({ pad: 'x'.repeat(66_000) })),
    ],
    [
      'the fetch does not read deep JSON',
      (response: Response) => response.end(`${'['.repeat(5_000)}${']'.repeat(5_000)}`),
    ],
    ['the fetch does not read a document that is not JSON', (response: Response) => response.end('<html>')],
  ])('%s', async (_, document) => {
    gateway.publish({ [didUrl]: document })
    expect(await codesOf(vouch(credential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('of a credential count only when its own issuer controls them', async () => {
    const document = writeDidDocument(did, [{ fragment: 'key-1', publicKey }])
    const foreign = document.verificationMethod.map(method => ({ ...method, controller: otherDid }))
    gateway.publish({ [didUrl]: { ...document, verificationMethod: foreign } })
    expect(await codesOf(vouch(credential()))).toEqual(['issuer-controller-mismatch'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('of another trusted connector do not count, though its method is named', async () => {
    const borrowed = credential({}, otherKey.privateKey) as { readonly proof: object }
    const proof = { ...borrowed.proof, verificationMethod: `${otherDid}#key-1` }
    expect(await codesOf(vouch({ ...borrowed, proof }))).toEqual(['issuer-controller-mismatch'])
    expect(gateway.requestedUrls).not.toContain(`https://${otherHost}/.well-known/did.json`)
  })
})

interface Response {
  statusCode: number
  setHeader(name: string, value: string): void
  end(text?: string): void
}

function redirect(response: Response): void {
  response.statusCode = 302
  response.setHeader('location', `https://${otherHost}/.well-known/did.json`)
  response.end()
}

describe('did:web that points inside', () => {
  test.each(['internal.local', 'db.internal', 'router.home.arpa', 'agent.localhost'])(
    'the verifier does not fetch %s, though the operator trusts it',
    async name => {
      const issuer = `did:web:${name}`
      const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
      const open = await openIdentityGateway({ trusted_issuers: trusted })
      expect(await codesOf(vouch(credential({ issuer })), open)).toEqual(['key-unavailable'])
      expect(open.requestedUrls).toEqual([])
      expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('address is not public')
      await open.close()
    },
  )

  test('nor a name that DNS resolves to an address inside', async () => {
    const issuer = 'did:web:rebinding.test'
    const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
    const open = await openIdentityGateway({ trusted_issuers: trusted }, async () => ['10.0.0.5'])
    expect(await codesOf(vouch(credential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('not public')
    await open.close()
  })

  test('the verifier connects to no port but that of https', async () => {
    const issuer = `did:web:${host}%3A8443`
    const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
    const open = await openIdentityGateway({ trusted_issuers: trusted })
    expect(await codesOf(vouch(credential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    await open.close()
  })
})

describe('too much', () => {
  test('five credentials: none of them counts, and the verifier fetches nothing', async () => {
    expect(await codesOf(vouch(...Array.from({ length: 5 }, () => credential())))).toEqual(['too-many'])
    expect(await codesOf(attest(...Array.from({ length: 5 }, () => attestation())))).toEqual(['too-many'])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('the verifier leaves out a credential of 33 KiB, and the one beside it counts', async () => {
    const large = credential({ platform: { pad: 'x'.repeat(33 * 1024) } })
    const { accepted, left_out } = await gateway.verify(vouch(large, credential()))
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([1, ['too-large']])
  })

  test('the limit counts bytes, not characters', async () => {
    expect(await codesOf(vouch(credential({ platform: { pad: '€'.repeat(11 * 1024) } })))).toEqual(['too-large'])
  })

  test('a carrier of more than 64 KiB: none of it counts', async () => {
    const large = () => credential({ platform: { pad: 'x'.repeat(22 * 1024) } })
    expect(await codesOf(vouch(large(), large(), large()))).toEqual(['too-large'])
  })

  test.each([
    ['a text', 'x'],
    ['an object', { 0: credential() }],
    ['a number', 7],
    ['true', true],
  ])('a carrier that is %s is none', async (_, carrier) => {
    expect(await codesOf({ verifiable_credentials: carrier })).toEqual(['malformed'])
    expect(await codesOf({ identity_evidence: carrier })).toEqual(['malformed'])
  })

  test('the verifier leaves out entries that are not objects, one by one', async () => {
    const { accepted, left_out } = await gateway.verify(vouch(null, 'x', [credential()], credential()))
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([1, ['malformed', 'malformed', 'malformed']])
  })

  test('no carrier is no evidence and no fault', async () => {
    const emptyVerdict = { accepted: [], left_out: [], proofs: [] }
    expect(await gateway.verify({})).toEqual(emptyVerdict)
    expect(await gateway.verify({ verifiable_credentials: null, identity_evidence: null })).toEqual(emptyVerdict)
    expect(await gateway.verify({ verifiable_credentials: [] })).toEqual(emptyVerdict)
  })
})

describe('JSON with tricks', () => {
  const parse = (text: string) => JSON.parse(text) as object

  test('the last of two members of one name counts, and the signature has to cover that one', async () => {
    const text = JSON.stringify(credential())
    const doubled = (first: string, second: string) =>
      text.replace('"id":"slack:T123/U1"', `"id":"${first}","id":"${second}"`)
    expect(doubled('a', 'b')).not.toBe(text)
    expect(await codesOf(vouch(parse(doubled('slack:T123/U1', 'slack:T123/ADMIN'))))).toEqual(['invalid-signature'])
    const { accepted } = await gateway.verify(vouch(parse(doubled('slack:T123/ADMIN', 'slack:T123/U1'))))
    expect(accepted[0]?.subject).toBe('slack:T123/U1')
  })

  test('__proto__ is a member like any other: it breaks the signature and gives nothing', async () => {
    const inside = JSON.stringify(attestation()).replace('{', '{"__proto__":{"assurance":"delegated"},')
    expect(await codesOf(attest(parse(inside)))).toEqual(['invalid-signature'])
    const outside = JSON.stringify(credential()).replace('{', '{"__proto__":{"id":"x"},')
    expect(await codesOf(vouch(parse(outside)))).toEqual(['malformed'])
    expect(({} as { readonly assurance?: string }).assurance).toBeUndefined()
  })

  test('the verifier never reads inherited members of an object as its own', async () => {
    const bare = parse('{"__proto__":{"proof":{"type":"signed-attestation"}}}')
    expect(await codesOf(attest(bare))).toEqual(['malformed'])
    expect(await codesOf(attest(parse('{"constructor":1,"proof":{"type":"constructor"}}')))).toEqual([
      'unsupported-proof',
    ])
  })

  test('the agent does not get signed members called __proto__', async () => {
    const claims = JSON.parse('{"__proto__":{"admin":true},"name":"Acme"}') as Record<string, unknown>
    const { accepted } = await gateway.verify(attest(attestation({ claims })))
    expect(accepted).toHaveLength(1)
    expect(accepted[0]?.claims?.admin).toBeUndefined()
    expect(JSON.parse(JSON.stringify(accepted[0]?.claims))).toMatchObject({ name: 'Acme' })
  })

  test('the verifier leaves out deep JSON, which harms no other evidence', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(4_000)}1${'}'.repeat(4_000)}`) as Record<string, unknown>
    const codes = [
      ...(await codesOf(attest({ ...attestation(), claims: deep }))),
      ...(await codesOf(vouch({ ...credential(), name: deep }))),
    ]
    expect(codes).toHaveLength(2)
    for (const code of codes) expect(['malformed', 'invalid-signature']).toContain(code)
  })
})

test('the view for the operator holds no signature and no token', async () => {
  const secret = 'token-that-is-nobodys-business'
  const bearer = { ...attestation(), proof: { type: 'bearer-token', verified_by: 'slack', token: secret } }
  const tampered = { ...credential(), name: 'added' } as unknown as { readonly proof: { readonly proofValue: string } }
  const verdict = await gateway.verify({ ...attest(bearer, attestation()), ...vouch(tampered) })
  expect(verdict.proofs.map(({ kind, verdict, code }) => [kind, verdict, code])).toEqual([
    ['identity-evidence', 'fail', 'unsupported-proof'],
    ['identity-evidence', 'pass', undefined],
    ['verifiable-credential', 'fail', 'invalid-signature'],
  ])
  const shown = JSON.stringify([verdict, gateway.logged])
  expect(shown).not.toContain(secret)
  expect(shown).not.toContain(tampered.proof.proofValue)
  const { value } = attestation().proof as { readonly value: string }
  expect(shown).not.toContain(value)
})
