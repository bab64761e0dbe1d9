import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { issuePlatformCredential, signAttestation, writeDidDocument } from '../src/index.ts'
import {
  audience,
  chatMemberMethod,
  connectorKey,
  did,
  host,
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

function issueCredential(draft: Draft = {}, signingKey = privateKey) {
  const base = { issuer: did, subject: 'slack:T123/U1', method: chatMemberMethod, assurance: 'platform' }
  const binding = { domain: audience, challenge: messageId, issuedAt: now }
  return issuePlatformCredential({ ...base, ...binding, ...draft }, { privateKey: signingKey, fragment: 'key-1' })
}

function signTestAttestation(draft: Partial<Parameters<typeof signAttestation>[0]> = {}, signingKey = privateKey) {
  const base = { issuer: host, subject: 'slack:T123/U1', method: chatMemberMethod, assurance: 'platform', audience }
  return signAttestation({ ...base, issuedAt: now, ...draft }, { privateKey: signingKey, kid: 'k1' })
}

async function listRejectionCodes(carriers: Parameters<IdentityGateway['verify']>[0], verifyingGateway = gateway) {
  const { accepted, left_out } = await verifyingGateway.verify(carriers)
  expect(left_out.length + accepted.length).toBeGreaterThan(0)
  return left_out.map(({ code }) => code)
}

const carryCredentials = (...verifiable_credentials: unknown[]) => ({ verifiable_credentials })
const carryAttestations = (...identity_evidence: unknown[]) => ({ identity_evidence })

describe('a forged connector', () => {
  test('from an untrusted issuer causes no request', async () => {
    expect(await listRejectionCodes(carryCredentials(issueCredential({ issuer: strangerDid })))).toEqual([
      'untrusted-issuer',
    ])
    expect(await listRejectionCodes(carryAttestations(signTestAttestation({ issuer: strangerHost })))).toEqual([
      'untrusted-issuer',
    ])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('proves nothing if it claims another name with its own key (MN-11, MN-6.3)', async () => {
    expect(await listRejectionCodes(carryCredentials(issueCredential({}, otherKey.privateKey)))).toEqual([
      'invalid-signature',
    ])
    expect(await listRejectionCodes(carryAttestations(signTestAttestation({}, otherKey.privateKey)))).toEqual([
      'invalid-signature',
    ])
  })

  test('is untrusted if the policy names no issuer', async () => {
    const untrustingGateway = await openIdentityGateway({ trusted_issuers: [] })
    expect(
      await listRejectionCodes(
        { ...carryCredentials(issueCredential()), ...carryAttestations(signTestAttestation()) },
        untrustingGateway,
      ),
    ).toEqual(['untrusted-issuer', 'untrusted-issuer'])
    expect(untrustingGateway.requestedUrls).toEqual([])
    await untrustingGateway.close()
  })

  test('does not inherit trust from its host to its DID', async () => {
    const singleIssuer = trustedIssuers.filter(({ issuer }) => issuer === host)
    const hostOnlyGateway = await openIdentityGateway({ trusted_issuers: [...singleIssuer] })
    expect(await listRejectionCodes(carryCredentials(issueCredential()), hostOnlyGateway)).toEqual(['untrusted-issuer'])
    expect(await listRejectionCodes(carryAttestations(signTestAttestation()), hostOnlyGateway)).toEqual([])
    await hostOnlyGateway.close()
  })
})

describe('a trusted connector with a subject outside its prefixes', () => {
  test.each(['slack:T999/U1', 'slack:T1234/U', 'slack:T12', 'teams:T123/U1', ' slack:T123/U1'])(
    'loses the evidence for %s, and the gateway fetches nothing',
    async subject => {
      const codes = [
        ...(await listRejectionCodes(carryCredentials(issueCredential({ subject })))),
        ...(await listRejectionCodes(carryAttestations(signTestAttestation({ subject })))),
      ]
      const expectedCode = subject.startsWith(' ') ? 'malformed' : 'untrusted-subject'
      expect(codes).toEqual([expectedCode, expectedCode])
      expect(gateway.requestedUrls).toEqual([])
    },
  )

  test('cannot name slack:T1234/U1 by the prefix slack:T123, which needs its slash', async () => {
    const [entry] = trustedIssuers.filter(({ issuer }) => issuer === did)
    const gatewayWithoutSlash = await openIdentityGateway({
      trusted_issuers: entry ? [{ ...entry, subject_prefixes: ['slack:T123'] }] : [],
    })
    expect(await listRejectionCodes(carryCredentials(issueCredential()), gatewayWithoutSlash)).toEqual([])
    expect(
      await listRejectionCodes(carryCredentials(issueCredential({ subject: 'slack:T1234/U1' })), gatewayWithoutSlash),
    ).toEqual(['untrusted-subject'])
    await gatewayWithoutSlash.close()
  })

  test('cannot delegate for such a subject, even together with an allowed one', async () => {
    const principals = ['slack:T123/U1', 'slack:T999/U1', 'slack:T123/U2']
    for (const onBehalfOf of [principals, principals.toReversed(), ['slack:T999/U1']]) {
      const draft = { assurance: 'delegated', onBehalfOf }
      const codes = [
        ...(await listRejectionCodes(carryCredentials(issueCredential(draft)))),
        ...(await listRejectionCodes(carryAttestations(signTestAttestation(draft)))),
      ]
      expect(codes).toEqual(['untrusted-delegation', 'untrusted-delegation'])
    }
    expect(gateway.requestedUrls).toEqual([])
  })

  test('cannot combine entries of one issuer, since each must admit the whole subject', async () => {
    const entries = [
      { issuer: did, methods: [chatMemberMethod], assurance: ['platform'], subject_prefixes: ['slack:T999/'] },
      { issuer: did, methods: ['urn:other'], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
    ]
    const twoEntryGateway = await openIdentityGateway({ trusted_issuers: entries })
    expect(await listRejectionCodes(carryCredentials(issueCredential()), twoEntryGateway)).toEqual([
      'untrusted-subject',
    ])
    await twoEntryGateway.close()
  })
})

test('the verifier drops evidence for another audience before any fetch (MN-6.2, MN-6.5)', async () => {
  expect(await listRejectionCodes(carryCredentials(issueCredential({ domain: '@echo@agents.test' })))).toEqual([
    'wrong-domain',
  ])
  expect(await listRejectionCodes(carryAttestations(signTestAttestation({ audience: '@echo@agents.test' })))).toEqual([
    'wrong-domain',
  ])
  expect(gateway.requestedUrls).toEqual([])
})

describe('repeated evidence', () => {
  const carriers = { ...carryCredentials(issueCredential()), ...carryAttestations(signTestAttestation()) }

  test('counts once', async () => {
    expect(await listRejectionCodes(carriers)).toEqual([])
    expect(await listRejectionCodes(carriers)).toEqual(['replayed', 'replayed'])
  })

  test('counts once even if it arrives many times concurrently', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => gateway.verify(carriers)))
    expect(outcomes.flatMap(({ accepted }) => accepted)).toHaveLength(2)
  })

  test('counts once for all processes, and after a restart', async () => {
    expect(await listRejectionCodes(carriers)).toEqual([])
    const second = gateway.reopen()
    const { accepted, left_out } = await second.verify({ ...gateway.binding, carriers })
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([0, ['replayed', 'replayed']])
  })

  test('counts for a repeated message, which the store recognizes', async () => {
    const verify = async (sender: string | undefined, id = messageId) => {
      const { accepted } = await gateway.verify(carryAttestations(signTestAttestation()), { sender, messageId: id })
      return accepted.length
    }
    expect(await Promise.all([verify('alice'), verify('alice'), verify('alice')])).toEqual([1, 1, 1])
    expect(await verify('alice', 'another message')).toBe(0)
    // The result stays the same in every attempt of the attacker.
    for (const sender of ['mallory', 'mallory', undefined, undefined]) expect(await verify(sender)).toBe(0)
    expect(await verify('alice')).toBe(1)
    const restarted = await gateway
      .reopen()
      .verify({ ...gateway.binding, sender: 'alice', carriers: carryAttestations(signTestAttestation()) })
    expect(restarted.accepted).toHaveLength(1)
  })

  test('of an unproven sender counts once', async () => {
    expect((await gateway.verify(carryAttestations(signTestAttestation()))).accepted).toHaveLength(1)
    expect((await gateway.verify(carryAttestations(signTestAttestation()))).accepted).toHaveLength(0)
    expect((await gateway.verify(carryAttestations(signTestAttestation()), { sender: 'alice' })).accepted).toHaveLength(
      0,
    )
  })

  test('counts as the same if another credential carries it for the same message', async () => {
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual([])
    expect(await listRejectionCodes(carryCredentials(issueCredential({ subject: 'slack:T123/U2' })))).toEqual([
      'replayed',
    ])
  })

  test('counts together with others of one issuer for the same message', async () => {
    expect(
      await listRejectionCodes(
        carryCredentials(issueCredential(), issueCredential({ method: 'urn:mentionable:auth:platform-mention:v0.1' })),
      ),
    ).toEqual([])
  })

  test('stays usable after invalid evidence', async () => {
    expect(await listRejectionCodes(carryCredentials(issueCredential({}, otherKey.privateKey)))).toEqual([
      'invalid-signature',
    ])
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual([])
  })

  test('stays in the store’s memory until its last moment', async () => {
    const longLived = {
      ...carryCredentials(issueCredential({ lifetimeMs: 600_000 })),
      ...carryAttestations(signTestAttestation({ lifetimeMs: 600_000 })),
    }
    expect(await listRejectionCodes(longLived)).toEqual([])
    gateway.setTime(now + 600_000 + 59_999)
    expect(await listRejectionCodes(longLived)).toEqual(['replayed', 'replayed'])
    gateway.setTime(now + 600_000 + 60_000)
    expect(await listRejectionCodes(longLived)).toEqual(['expired', 'expired'])
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
    expect(
      await listRejectionCodes({ ...carryCredentials(issueCredential()), ...carryAttestations(signTestAttestation()) }),
    ).toEqual(expectedCodes)
  })

  test('does not grow with a slow key server', async () => {
    gateway.onNextRequest(() => gateway.setTime(now + 360_000))
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual(['expired'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })
})

describe('the keys of an issuer', () => {
  test('stay in the cache for five minutes after one fetch', async () => {
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual([])
    expect(await listRejectionCodes(carryCredentials(issueCredential({ challenge: 'other' })))).toEqual([
      'challenge-mismatch',
    ])
    gateway.setTime(now + 299_000)
    await gateway.verify(carryCredentials(issueCredential({ issuedAt: now + 299_000, challenge: 'm2' })), {
      messageId: 'm2',
    })
    expect(gateway.requestedUrls).toEqual([didUrl])
    gateway.setTime(now + 300_000)
    await gateway.verify(carryCredentials(issueCredential({ issuedAt: now + 300_000, challenge: 'm3' })), {
      messageId: 'm3',
    })
    expect(gateway.requestedUrls).toEqual([didUrl, didUrl])
  })

  test('cause a fetch if they are new, at most once every half minute', async () => {
    await gateway.verify(carryCredentials(issueCredential()))
    const issue = (challenge: string) =>
      issuePlatformCredential(
        {
          issuer: did,
          subject: 'slack:T123/U1',
          method: chatMemberMethod,
          assurance: 'platform',
          domain: audience,
          challenge,
          issuedAt: now,
        },
        { privateKey: otherKey.privateKey, fragment: 'key-2' },
      )
    gateway.publish({ [didUrl]: writeDidDocument(did, [{ fragment: 'key-2', publicKey: otherKey.publicKey }]) })
    const earlyVerdict = await gateway.verify(carryCredentials(issue('m2')), { messageId: 'm2' })
    expect(earlyVerdict.left_out.map(({ code }) => code)).toEqual(['invalid-signature'])
    gateway.setTime(now + 30_000)
    const lateVerdict = await gateway.verify(carryCredentials(issue('m3')), { messageId: 'm3' })
    expect(lateVerdict.accepted).toHaveLength(1)
    expect(gateway.requestedUrls).toHaveLength(2)
  })

  test('need one fetch for many waiting messages', async () => {
    const ids = ['m1', 'm2', 'm3', 'm4']
    await Promise.all(
      ids.map(challenge => gateway.verify(carryCredentials(issueCredential({ challenge })), { messageId: challenge })),
    )
    expect(gateway.requestedUrls).toHaveLength(1)
  })

  test('cause no second fetch right after a failure', async () => {
    gateway.publish({ [didUrl]: null })
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual(['key-unavailable'])
    gateway.publish({ [didUrl]: writeDidDocument(did, [{ fragment: 'key-1', publicKey }]) })
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toHaveLength(1)
    gateway.setTime(now + 5_000)
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual([])
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
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual(['key-unavailable'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('count for a credential only if its own issuer controls them', async () => {
    const document = writeDidDocument(did, [{ fragment: 'key-1', publicKey }])
    const foreign = document.verificationMethod.map(method => ({ ...method, controller: otherDid }))
    gateway.publish({ [didUrl]: { ...document, verificationMethod: foreign } })
    expect(await listRejectionCodes(carryCredentials(issueCredential()))).toEqual(['issuer-controller-mismatch'])
    expect(gateway.requestedUrls).toEqual([didUrl])
  })

  test('of another trusted connector do not count, even if its method is named', async () => {
    const borrowed = issueCredential({}, otherKey.privateKey) as { readonly proof: object }
    const proof = { ...borrowed.proof, verificationMethod: `${otherDid}#key-1` }
    expect(await listRejectionCodes(carryCredentials({ ...borrowed, proof }))).toEqual(['issuer-controller-mismatch'])
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
      const trusted = [
        { issuer, methods: [chatMemberMethod], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
      ]
      const open = await openIdentityGateway({ trusted_issuers: trusted })
      expect(await listRejectionCodes(carryCredentials(issueCredential({ issuer })), open)).toEqual(['key-unavailable'])
      expect(open.requestedUrls).toEqual([])
      expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('address is not public')
      await open.close()
    },
  )

  test('causes no fetch of a name that resolves to a private address', async () => {
    const issuer = 'did:web:rebinding.test'
    const trusted = [
      { issuer, methods: [chatMemberMethod], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
    ]
    const open = await openIdentityGateway({ trusted_issuers: trusted }, async () => ['10.0.0.5'])
    expect(await listRejectionCodes(carryCredentials(issueCredential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    expect(JSON.stringify(open.logged.map(({ err }) => String(err)))).toContain('not public')
    await open.close()
  })

  test('causes connections only to the https port', async () => {
    const issuer = `did:web:${host}%3A8443`
    const trusted = [
      { issuer, methods: [chatMemberMethod], assurance: ['platform'], subject_prefixes: ['slack:T123/'] },
    ]
    const open = await openIdentityGateway({ trusted_issuers: trusted })
    expect(await listRejectionCodes(carryCredentials(issueCredential({ issuer })), open)).toEqual(['key-unavailable'])
    expect(open.requestedUrls).toEqual([])
    await open.close()
  })
})

describe('excessive evidence', () => {
  test('of five credentials does not count, and causes no fetch', async () => {
    expect(await listRejectionCodes(carryCredentials(...Array.from({ length: 5 }, () => issueCredential())))).toEqual([
      'too-many',
    ])
    expect(
      await listRejectionCodes(carryAttestations(...Array.from({ length: 5 }, () => signTestAttestation()))),
    ).toEqual(['too-many'])
    expect(gateway.requestedUrls).toEqual([])
  })

  test('does not count in a credential of 33 KiB, while the one beside it does', async () => {
    const large = issueCredential({ platform: { pad: 'x'.repeat(33 * 1024) } })
    const { accepted, left_out } = await gateway.verify(carryCredentials(large, issueCredential()))
    expect([accepted.length, left_out.map(({ code }) => code)]).toEqual([1, ['too-large']])
  })

  test('has a limit in bytes, not characters', async () => {
    expect(
      await listRejectionCodes(carryCredentials(issueCredential({ platform: { pad: '€'.repeat(11 * 1024) } }))),
    ).toEqual(['too-large'])
  })

  test('of more than 64 KiB does not count at all', async () => {
    const large = () => issueCredential({ platform: { pad: 'x'.repeat(22 * 1024) } })
    expect(await listRejectionCodes(carryCredentials(large(), large(), large()))).toEqual(['too-large'])
  })

  test.each([
    ['a text', 'x'],
    ['an object', { 0: issueCredential() }],
    ['a number', 7],
    ['true', true],
  ])('does not count in a carrier that is %s', async (_, carrier) => {
    expect(await listRejectionCodes({ verifiable_credentials: carrier })).toEqual(['malformed'])
    expect(await listRejectionCodes({ identity_evidence: carrier })).toEqual(['malformed'])
  })

  test('loses entries that are not objects, one by one', async () => {
    const { accepted, left_out } = await gateway.verify(
      carryCredentials(null, 'x', [issueCredential()], issueCredential()),
    )
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
    const text = JSON.stringify(issueCredential())
    const doubled = (first: string, second: string) =>
      text.replace('"id":"slack:T123/U1"', `"id":"${first}","id":"${second}"`)
    expect(doubled('a', 'b')).not.toBe(text)
    expect(await listRejectionCodes(carryCredentials(parse(doubled('slack:T123/U1', 'slack:T123/ADMIN'))))).toEqual([
      'invalid-signature',
    ])
    const { accepted } = await gateway.verify(carryCredentials(parse(doubled('slack:T123/ADMIN', 'slack:T123/U1'))))
    expect(accepted[0]?.subject).toBe('slack:T123/U1')
  })

  test('does not verify with __proto__, which is a member like any other', async () => {
    const inside = JSON.stringify(signTestAttestation()).replace('{', '{"__proto__":{"assurance":"delegated"},')
    expect(await listRejectionCodes(carryAttestations(parse(inside)))).toEqual(['invalid-signature'])
    const outside = JSON.stringify(issueCredential()).replace('{', '{"__proto__":{"id":"x"},')
    expect(await listRejectionCodes(carryCredentials(parse(outside)))).toEqual(['malformed'])
    expect(({} as { readonly assurance?: string }).assurance).toBeUndefined()
  })

  test('never contributes inherited members of an object', async () => {
    const bare = parse('{"__proto__":{"proof":{"type":"signed-attestation"}}}')
    expect(await listRejectionCodes(carryAttestations(bare))).toEqual(['malformed'])
    expect(
      await listRejectionCodes(carryAttestations(parse('{"constructor":1,"proof":{"type":"constructor"}}'))),
    ).toEqual(['unsupported-proof'])
  })

  test('does not give the agent signed members called __proto__', async () => {
    const claims = JSON.parse('{"__proto__":{"admin":true},"name":"Acme"}') as Record<string, unknown>
    const { accepted } = await gateway.verify(carryAttestations(signTestAttestation({ claims })))
    expect(accepted).toHaveLength(1)
    expect(accepted[0]?.claims?.admin).toBeUndefined()
    expect(JSON.parse(JSON.stringify(accepted[0]?.claims))).toMatchObject({ name: 'Acme' })
  })

  test('does not count if it is deep, and harms no other evidence', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(4_000)}1${'}'.repeat(4_000)}`) as Record<string, unknown>
    const codes = [
      ...(await listRejectionCodes(carryAttestations({ ...signTestAttestation(), claims: deep }))),
      ...(await listRejectionCodes(carryCredentials({ ...issueCredential(), name: deep }))),
    ]
    expect(codes).toHaveLength(2)
    for (const code of codes) expect(['malformed', 'invalid-signature']).toContain(code)
  })
})

test('the operator’s view contains no signature and no token', async () => {
  const secret = 'token-that-is-nobodys-business'
  const bearer = { ...signTestAttestation(), proof: { type: 'bearer-token', verified_by: 'slack', token: secret } }
  const tampered = { ...issueCredential(), name: 'added' } as unknown as {
    readonly proof: { readonly proofValue: string }
  }
  const verdict = await gateway.verify({
    ...carryAttestations(bearer, signTestAttestation()),
    ...carryCredentials(tampered),
  })
  expect(verdict.proofs.map(({ kind, verdict, code }) => [kind, verdict, code])).toEqual([
    ['identity-evidence', 'fail', 'unsupported-proof'],
    ['identity-evidence', 'pass', undefined],
    ['verifiable-credential', 'fail', 'invalid-signature'],
  ])
  const shownText = JSON.stringify([verdict, gateway.logged])
  expect(shownText).not.toContain(secret)
  expect(shownText).not.toContain(tampered.proof.proofValue)
  const { value } = signTestAttestation().proof as { readonly value: string }
  expect(shownText).not.toContain(value)
})
