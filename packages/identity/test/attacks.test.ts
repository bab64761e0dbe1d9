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

const credentialCarrier = (...verifiable_credentials: unknown[]) => ({ verifiable_credentials })
const attestationCarrier = (...identity_evidence: unknown[]) => ({ identity_evidence })

describe('a forged connector', () => {
  test('from an untrusted issuer causes no request', async () => {
    expect(await codesOf(credentialCarrier(credential({ issuer: strangerDid })))).toEqual(['untrusted-issuer'])
    expect(await codesOf(attestationCarrier(attestation({ issuer: strangerHost })))).toEqual(['untrusted-issuer'])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('proves nothing if it claims another name with its own key (MN-11, MN-6.3)', async () => {
    expect(await codesOf(credentialCarrier(credential({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
    expect(await codesOf(attestationCarrier(attestation({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
  })

  test('gains nothing from an empty policy, under which no connector counts', async () => {
    const untrustingGateway = await openIdentityGateway({ trusted_issuers: [] })
    expect(
      await codesOf({ ...credentialCarrier(credential()), ...attestationCarrier(attestation()) }, untrustingGateway),
    ).toEqual(['untrusted-issuer', 'untrusted-issuer'])
    expect(untrustingGateway.requestedUrls).toEqual([])
    await untrustingGateway.close()
  })

  test('cannot use trust in a host for its DID, or the reverse', async () => {
    const singleIssuer = trustedIssuers.filter(({ issuer }) => issuer === host)
    const narrow = await openIdentityGateway({ trusted_issuers: [...singleIssuer] })
    expect(await codesOf(credentialCarrier(credential()), narrow)).toEqual(['untrusted-issuer'])
    expect(await codesOf(attestationCarrier(attestation()), narrow)).toEqual([])
    await narrow.close()
  })
})

describe('a trusted connector with a subject outside its prefixes', () => {
  test.each(['slack:T999/U1', 'slack:T1234/U', 'slack:T12', 'teams:T123/U1', ' slack:T123/U1'])(
    'loses %s, without a fetch',
    async subject => {
      const codes = [
        ...(await codesOf(credentialCarrier(credential({ subject })))),
        ...(await codesOf(attestationCarrier(attestation({ subject })))),
      ]
      const expectedCode = subject.startsWith(' ') ? 'malformed' : 'untrusted-subject'
      expect(codes).toEqual([expectedCode, expectedCode])
      expect(gateway.requestedUrls).toEqual([])
    },
  )

  test('cannot name slack:T1234/U1 by the prefix slack:T123, which needs its slash', async () => {
    const [entry] = trustedIssuers.filter(({ issuer }) => issuer === did)
    const bare = await openIdentityGateway({
      trusted_issuers: entry ? [{ ...entry, subject_prefixes: ['slack:T123'] }] : [],
    })
    expect(await codesOf(credentialCarrier(credential()), bare)).toEqual([])
    expect(await codesOf(credentialCarrier(credential({ subject: 'slack:T1234/U1' })), bare)).toEqual([
      'untrusted-subject',
    ])
    await bare.close()
  })

  test('cannot delegate for such a subject, even together with an allowed one', async () => {
    const principals = ['slack:T123/U1', 'slack:T999/U1', 'slack:T123/U2']
    for (const onBehalfOf of [principals, principals.toReversed(), ['slack:T999/U1']]) {
      const draft = { assurance: 'delegated', onBehalfOf }
      const codes = [
        ...(await codesOf(credentialCarrier(credential(draft)))),
        ...(await codesOf(attestationCarrier(attestation(draft)))),
      ]
      expect(codes).toEqual(['untrusted-delegation', 'untrusted-delegation'])
    }
    expect(gateway.requestedUrls).toEqual([])
  })

  test('cannot combine entries of one issuer, since each must admit the whole subject', async () => {
    const entries = [
      { issuer: did, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T999/'] },
      { issuer: did, methods: ['urn:other'], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
    ]
    const mixed = await openIdentityGateway({ trusted_issuers: entries })
    expect(await codesOf(credentialCarrier(credential()), mixed)).toEqual(['untrusted-subject'])
    await mixed.close()
  })
})

test('the verifier drops evidence for another audience before any fetch (MN-6.2, MN-6.5)', async () => {
  expect(await codesOf(credentialCarrier(credential({ domain: '@echo@agents.test' })))).toEqual(['wrong-domain'])
  expect(await codesOf(attestationCarrier(attestation({ audience: '@echo@agents.test' })))).toEqual(['wrong-domain'])
  expect(gateway.requestedUrls).toEqual([])
})

describe('repeated evidence', () => {
  const carriers = { ...credentialCarrier(credential()), ...attestationCarrier(attestation()) }

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

  test('counts for a repeated message, which the store recognizes', async () => {
    const verify = async (sender: string | undefined, id = messageId) => {
      const { accepted } = await gateway.verify(attestationCarrier(attestation()), { sender, messageId: id })
      return accepted.length
    }
    expect(await Promise.all([verify('alice'), verify('alice'), verify('alice')])).toEqual([1, 1, 1])
    expect(await verify('alice', 'another message')).toBe(0)
    // The result stays the same in every attempt of the attacker.
    for (const sender of ['mallory', 'mallory', undefined, undefined]) expect(await verify(sender)).toBe(0)
    expect(await verify('alice')).toBe(1)
    const restarted = await gateway
      .reopen()
      .verify({ ...gateway.binding, sender: 'alice', carriers: attestationCarrier(attestation()) })
    expect(restarted.accepted).toHaveLength(1)
  })

  test('of an unproven sender counts once', async () => {
    expect((await gateway.verify(attestationCarrier(attestation()))).accepted).toHaveLength(1)
    expect((await gateway.verify(attestationCarrier(attestation()))).accepted).toHaveLength(0)
    expect((await gateway.verify(attestationCarrier(attestation()), { sender: 'alice' })).accepted).toHaveLength(0)
  })

  test('counts as the same if another credential carries it for the same message', async () => {
    expect(await codesOf(credentialCarrier(credential()))).toEqual([])
    expect(await codesOf(credentialCarrier(credential({ subject: 'slack:T123/U2' })))).toEqual(['replayed'])
  })

  test('counts together with others of one issuer for the same message', async () => {
    expect(
      await codesOf(
        credentialCarrier(credential(), credential({ method: 'urn:mentionable:auth:platform-mention:v0.1' })),
      ),
    ).toEqual([])
  })

  test('stays usable after invalid evidence', async () => {
    expect(await codesOf(credentialCarrier(credential({}, otherKey.privateKey)))).toEqual(['invalid-signature'])
    expect(await codesOf(credentialCarrier(credential()))).toEqual([])
  })

  test('stays in the store’s memory until its last moment', async () => {
    const longLived = {
      ...credentialCarrier(credential({ lifetimeMs: 600_000 })),
      ...attestationCarrier(attestation({ lifetimeMs: 600_000 })),
    }
    expect(await codesOf(longLived)).toEqual([])
    gateway.setTime(now + 600_000 + 59_999)
    expect(await codesOf(longLived)).toEqual(['replayed', 'replayed'])
    gateway.setTime(now + 600_000 + 60_000)
    expect(await codesOf(longLived)).toEqual(['expired', 'expired'])
  })
})

describe('the lifetime of evidence', () => {
  test.each([
    [-60_001, 'not-yet-valid'],
    [-60_000, undefined],
    [0, undefined],
    [359_999, undefined],
    [360_000, 'expired'],
  ])('is limited, at %d ms after its creation', async (offset, code) => {
    gateway.setTime(now + offset)
    const expectedCodes = code === undefined ? [] : [code, code]
    expect(await codesOf({ ...credentialCarrier(credential()), ...attestationCarrier(attestation()) })).toEqual(
      expectedCodes,
    )
  })

  test('does not grow with a slow key server', async () => {
    gateway.onNextRequest(() => gateway.setTime(now + 360_000))
    expect(await codesOf(credentialCarrier(credential()))).toEqual(['expired'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })
})

describe('the keys of an issuer', () => {
  test('stay in the cache for five minutes after one fetch', async () => {
    expect(await codesOf(credentialCarrier(credential()))).toEqual([])
    expect(await codesOf(credentialCarrier(credential({ challenge: 'other' })))).toEqual(['challenge-mismatch'])
    gateway.setTime(now + 299_000)
    await gateway.verify(credentialCarrier(credential({ issuedAt: now + 299_000, challenge: 'm2' })), {
      messageId: 'm2',
    })
    expect(gateway.requestedUrls).toEqual([didUrl])
    gateway.setTime(now + 300_000)
    await gateway.verify(credentialCarrier(credential({ issuedAt: now + 300_000, challenge: 'm3' })), {
      messageId: 'm3',
    })
    expect(gateway.requestedUrls).toEqual([didUrl, didUrl])
  })

  test('cause a fetch if they are new, at most once every half minute', async () => {
    await gateway.verify(credentialCarrier(credential()))
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
    const earlyVerdict = await gateway.verify(credentialCarrier(issue('m2')), { messageId: 'm2' })
    expect(earlyVerdict.left_out.map(({ code }) => code)).toEqual(['invalid-signature'])
    gateway.setTime(now + 30_000)
    const lateVerdict = await gateway.verify(credentialCarrier(issue('m3')), { messageId: 'm3' })
    expect(lateVerdict.accepted).toHaveLength(1)
    expect(gateway.requestedUrls).toHaveLength(2)
  })

  test('need one fetch for many waiting messages', async () => {
    const ids = ['m1', 'm2', 'm3', 'm4']
    await Promise.all(
      ids.map(challenge => gateway.verify(credentialCarrier(credential({ challenge })), { messageId: challenge })),
    )
    expect(gateway.requestedUrls).toHaveLength(1)
  })

  test('cause no second fetch right after a failure', async () => {
    gateway.publish({ [didUrl]: null })
    expect(await codesOf(credentialCarrier(credential()))).toEqual(['key-unavailable'])
    gateway.publish({ [didUrl]: writeDidDocument(did, [{ fragment: 'key-1', publicKey }]) })
    expect(await codesOf(credentialCarrier(credential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toHaveLength(1)
    gateway.setTime(now + 5_000)
    expect(await codesOf(credentialCarrier(credential()))).toEqual([])
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
    expect(await codesOf(credentialCarrier(credential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('count for a credential only if its own issuer controls them', async () => {
    const document = writeDidDocument(did, [{ fragment: 'key-1', publicKey }])
    const foreign = document.verificationMethod.map(method => ({ ...method, controller: otherDid }))
    gateway.publish({ [didUrl]: { ...document, verificationMethod: foreign } })
    expect(await codesOf(credentialCarrier(credential()))).toEqual(['issuer-controller-mismatch'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('of another trusted connector do not count, even if its method is named', async () => {
    const borrowed = credential({}, otherKey.privateKey) as { readonly proof: object }
    const proof = { ...borrowed.proof, verificationMethod: `${otherDid}#key-1` }
    expect(await codesOf(credentialCarrier({ ...borrowed, proof }))).toEqual(['issuer-controller-mismatch'])
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

describe('did:web with a private target', () => {
  test.each(['internal.local', 'db.internal', 'router.home.arpa', 'agent.localhost'])(
    'causes no fetch of %s, even for a trusted DID',
    async name => {
      const issuer = `did:web:${name}`
      const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
      const open = await openIdentityGateway({ trusted_issuers: trusted })
      expect(await codesOf(credentialCarrier(credential({ issuer })), open)).toEqual(['key-unavailable'])
      expect(open.requestedUrls).toEqual([])
      expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('address is not public')
      await open.close()
    },
  )

  test('causes no fetch of a name that resolves to a private address', async () => {
    const issuer = 'did:web:rebinding.test'
    const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
    const open = await openIdentityGateway({ trusted_issuers: trusted }, async () => ['10.0.0.5'])
    expect(await codesOf(credentialCarrier(credential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('not public')
    await open.close()
  })

  test('causes connections only to the https port', async () => {
    const issuer = `did:web:${host}%3A8443`
    const trusted = [{ issuer, methods: [member], assurance: ['platform'], subject_prefixes: ['slack:T123/'] }]
    const open = await openIdentityGateway({ trusted_issuers: trusted })
    expect(await codesOf(credentialCarrier(credential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    await open.close()
  })
})

describe('excessive evidence', () => {
  test('of five credentials does not count, and causes no fetch', async () => {
    expect(await codesOf(credentialCarrier(...Array.from({ length: 5 }, () => credential())))).toEqual(['too-many'])
    expect(await codesOf(attestationCarrier(...Array.from({ length: 5 }, () => attestation())))).toEqual(['too-many'])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('does not count in a credential of 33 KiB, while the one beside it does', async () => {
    const large = credential({ platform: { pad: 'x'.repeat(33 * 1024) } })
    const { accepted, left_out } = await gateway.verify(credentialCarrier(large, credential()))
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([1, ['too-large']])
  })

  test('has a limit in bytes, not characters', async () => {
    expect(await codesOf(credentialCarrier(credential({ platform: { pad: '€'.repeat(11 * 1024) } })))).toEqual([
      'too-large',
    ])
  })

  test('of more than 64 KiB does not count at all', async () => {
    const large = () => credential({ platform: { pad: 'x'.repeat(22 * 1024) } })
    expect(await codesOf(credentialCarrier(large(), large(), large()))).toEqual(['too-large'])
  })

  test.each([
    ['a text', 'x'],
    ['an object', { 0: credential() }],
    ['a number', 7],
    ['true', true],
  ])('does not count in a carrier that is %s', async (_, carrier) => {
    expect(await codesOf({ verifiable_credentials: carrier })).toEqual(['malformed'])
    expect(await codesOf({ identity_evidence: carrier })).toEqual(['malformed'])
  })

  test('loses entries that are not objects, one by one', async () => {
    const { accepted, left_out } = await gateway.verify(credentialCarrier(null, 'x', [credential()], credential()))
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([1, ['malformed', 'malformed', 'malformed']])
  })

  test('may be absent without a fault', async () => {
    const emptyVerdict = { accepted: [], left_out: [], proofs: [] }
    expect(await gateway.verify({})).toEqual(emptyVerdict)
    expect(await gateway.verify({ verifiable_credentials: null, identity_evidence: null })).toEqual(emptyVerdict)
    expect(await gateway.verify({ verifiable_credentials: [] })).toEqual(emptyVerdict)
  })
})

describe('deceptive JSON', () => {
  const parse = (text: string) => JSON.parse(text) as object

  test('counts by the last of two members with one name, which the signature must cover', async () => {
    const text = JSON.stringify(credential())
    const doubled = (first: string, second: string) =>
      text.replace('"id":"slack:T123/U1"', `"id":"${first}","id":"${second}"`)
    expect(doubled('a', 'b')).not.toBe(text)
    expect(await codesOf(credentialCarrier(parse(doubled('slack:T123/U1', 'slack:T123/ADMIN'))))).toEqual([
      'invalid-signature',
    ])
    const { accepted } = await gateway.verify(credentialCarrier(parse(doubled('slack:T123/ADMIN', 'slack:T123/U1'))))
    expect(accepted[0]?.subject).toBe('slack:T123/U1')
  })

  test('does not verify with __proto__, which is a member like any other', async () => {
    const inside = JSON.stringify(attestation()).replace('{', '{"__proto__":{"assurance":"delegated"},')
    expect(await codesOf(attestationCarrier(parse(inside)))).toEqual(['invalid-signature'])
    const outside = JSON.stringify(credential()).replace('{', '{"__proto__":{"id":"x"},')
    expect(await codesOf(credentialCarrier(parse(outside)))).toEqual(['malformed'])
    expect(({} as { readonly assurance?: string }).assurance).toBeUndefined()
  })

  test('never contributes inherited members of an object', async () => {
    const bare = parse('{"__proto__":{"proof":{"type":"signed-attestation"}}}')
    expect(await codesOf(attestationCarrier(bare))).toEqual(['malformed'])
    expect(await codesOf(attestationCarrier(parse('{"constructor":1,"proof":{"type":"constructor"}}')))).toEqual([
      'unsupported-proof',
    ])
  })

  test('does not give the agent signed members called __proto__', async () => {
    const claims = JSON.parse('{"__proto__":{"admin":true},"name":"Acme"}') as Record<string, unknown>
    const { accepted } = await gateway.verify(attestationCarrier(attestation({ claims })))
    expect(accepted).toHaveLength(1)
    expect(accepted[0]?.claims?.admin).toBeUndefined()
    expect(JSON.parse(JSON.stringify(accepted[0]?.claims))).toMatchObject({ name: 'Acme' })
  })

  test('does not count if it is deep, and harms no other evidence', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(4_000)}1${'}'.repeat(4_000)}`) as Record<string, unknown>
    const codes = [
      ...(await codesOf(attestationCarrier({ ...attestation(), claims: deep }))),
      ...(await codesOf(credentialCarrier({ ...credential(), name: deep }))),
    ]
    expect(codes).toHaveLength(2)
    for (const code of codes) expect(['malformed', 'invalid-signature']).toContain(code)
  })
})

test('the operator’s view contains no signature and no token', async () => {
  const secret = 'token-that-is-nobodys-business'
  const bearer = { ...attestation(), proof: { type: 'bearer-token', verified_by: 'slack', token: secret } }
  const tampered = { ...credential(), name: 'added' } as unknown as { readonly proof: { readonly proofValue: string } }
  const verdict = await gateway.verify({ ...attestationCarrier(bearer, attestation()), ...credentialCarrier(tampered) })
  expect(verdict.proofs.map(({ kind, verdict, code }) => [kind, verdict, code])).toEqual([
    ['identity-evidence', 'fail', 'unsupported-proof'],
    ['identity-evidence', 'pass', undefined],
    ['verifiable-credential', 'fail', 'invalid-signature'],
  ])
  const shownText = JSON.stringify([verdict, gateway.logged])
  expect(shownText).not.toContain(secret)
  expect(shownText).not.toContain(tampered.proof.proofValue)
  const { value } = attestation().proof as { readonly value: string }
  expect(shownText).not.toContain(value)
})
