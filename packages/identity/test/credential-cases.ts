// Lists cases of verifiable credentials, with their expected results.
import type { EvidenceCode } from '@postern/pipeline'
import { issuePlatformCredential, secureCredential, writeDidDocument } from '../src/index.ts'
import type { EvidenceCase, Members } from './fixtures.ts'
import {
  audience,
  chatMemberMethod,
  connectorKey,
  did,
  formerKey,
  host,
  messageId,
  now,
  omit,
  otherDid,
  otherHost,
  otherKey,
  pathDid,
  platformMention,
  strangerDid,
  strangerHost,
  timeAt,
} from './fixtures.ts'

const { privateKey, publicKey } = connectorKey
const signer = { privateKey, fragment: 'key-1' }
const didUrl = `https://${host}/.well-known/did.json`
const pathUrl = `https://${host}/teams/T123/did.json`
const ownDocument = writeDidDocument(did, [{ fragment: 'key-1', publicKey }])

/** The documents that the connectors publish, by their addresses. */
export const didDocuments: Readonly<Record<string, unknown>> = {
  [didUrl]: ownDocument,
  [pathUrl]: writeDidDocument(pathDid, [{ fragment: 'key-1', publicKey }]),
  [`https://${otherHost}/.well-known/did.json`]: writeDidDocument(otherDid, [
    { fragment: 'key-1', publicKey: otherKey.publicKey },
  ]),
  [`https://${strangerHost}/.well-known/did.json`]: writeDidDocument(strangerDid, [{ fragment: 'key-1', publicKey }]),
}

const draft = {
  issuer: did,
  subject: 'slack:T123/U456',
  method: chatMemberMethod,
  assurance: 'platform',
  domain: audience,
  challenge: messageId,
  issuedAt: now - 1_000,
  platform: { provider: 'slack', workspace_id: 'T123' },
  profile: { display_name: 'Alice', username: 'alice', locale: 'en-US', timezone: 'Europe/Berlin' },
  source: { transport: 'a2a', connector: host },
}

const credential = issuePlatformCredential(draft, signer)
const { proof: wholeProof, ...wholeDocument } = credential as Members & { readonly proof: Members }
const wholeOptions = omit(wholeProof, 'proofValue')
const subjectOf = ({ credentialSubject }: Members) => credentialSubject as Members

/** Signs a credential again after a change, so that only the change is invalid. */
function resign(document: Members, options: Members = {}): Members {
  return secureCredential(document, { privateKey, options: { ...wholeOptions, ...options } })
}

const withDocument = (members: Members) => resign({ ...wholeDocument, ...members })
const withSubject = (members: Members) => withDocument({ credentialSubject: { ...subjectOf(credential), ...members } })
const withProof = (members: Members) => resign(wholeDocument, members)
const signFor = (from: number, to: number) =>
  resign({ ...wholeDocument, validFrom: timeAt(from), validUntil: timeAt(to) }, { created: timeAt(Math.min(from, 0)) })

/** Changes members of a credential after it was signed. */
const tampered = (members: Members): Members => ({ ...credential, ...members })
const tamperedProof = (members: Members): Members => ({ ...credential, proof: { ...wholeProof, ...members } })

const [method] = ownDocument.verificationMethod
const published = (members: Members) => ({ [didUrl]: { ...ownDocument, ...members } })
const publishedMethod = (members: Members) => published({ verificationMethod: [{ ...method, ...members }] })

type Row = readonly [name: string, evidence: unknown, documents?: Readonly<Record<string, unknown>>]

const rows: Readonly<Partial<Record<EvidenceCode | 'accepted', readonly Row[]>>> = {
  accepted: [
    ['a member of a workspace', credential],
    [
      'a mention that a bot of the platform relayed',
      issuePlatformCredential(
        {
          ...draft,
          method: platformMention,
          observedInvocation: { target: 'acct:desk@agents.test', channel: 'C1', thread: '17.1', message: '17.2' },
        },
        signer,
      ),
    ],
    ['an issuer with a path', issuePlatformCredential({ ...draft, issuer: pathDid }, signer)],
    ['ten minutes', signFor(-300_000, 300_000)],
    ['from a minute ahead on', signFor(60_000, 300_000)],
    ['to a minute ago, less a millisecond', signFor(-300_000, -59_999)],
    ['times with another zone', withDocument({ validFrom: '2026-08-01T13:59:00+02:00' })],
    ['no time in the proof', resign(wholeDocument, { created: undefined })],
    ['a nonce in the proof', withProof({ nonce: 'n-1' })],
    ['members of the subject that nobody knows', withSubject({ shoe_size: 42 })],
    ['a name and a description', withDocument({ name: 'Member', description: 'of a workspace' })],
    ['types in the other order', withDocument({ type: ['PlatformIdentityCredential', 'VerifiableCredential'] })],
    [
      'a key in place under assertionMethod',
      credential,
      published({ verificationMethod: [], assertionMethod: [method] }),
    ],
    [
      'a key by a relative reference',
      credential,
      published({ verificationMethod: [{ ...method, id: '#key-1' }], assertionMethod: ['#key-1'] }),
    ],
    [
      'keys of other kinds beside it',
      credential,
      published({
        verificationMethod: [{ id: `${did}#old`, type: 'JsonWebKey2020', controller: did }, 'nonsense', method],
      }),
    ],
    [
      'who acts for members of the same workspace',
      withSubject({ assurance: 'delegated', on_behalf_of: ['slack:T123/U1', 'slack:T123/U2'] }),
    ],
  ],
  'wrong-domain': [
    ['for another agent of the same house', withProof({ domain: '@echo@agents.test' })],
    ['for an agent elsewhere', withProof({ domain: '@desk@elsewhere.test' })],
    ['for the host', withProof({ domain: 'agents.test' })],
    ['the address without its @', withProof({ domain: 'desk@agents.test' })],
    ['other capitals', withProof({ domain: '@Desk@agents.test' })],
  ],
  'challenge-mismatch': [
    ['for another message', withProof({ challenge: 'another-message' })],
    ['other capitals', withProof({ challenge: messageId.toUpperCase() })],
  ],
  expired: [
    ['a minute ago', signFor(-300_000, -60_000)],
    ['long ago', signFor(-900_000, -600_000)],
    ['the proof, though the document has not', withProof({ created: timeAt(-200_000), expires: timeAt(-60_000) })],
  ],
  'not-yet-valid': [
    ['more than a minute ahead', signFor(60_001, 300_000)],
    ['a proof of tomorrow', withProof({ created: timeAt(86_400_000) })],
  ],
  'ttl-exceeded': [
    ['a millisecond more than ten minutes', signFor(-300_000, 300_001)],
    ['a year', signFor(-1_000, 31_536_000_000)],
    [
      'a year, with a proof for a minute',
      resign({ ...wholeDocument, validUntil: timeAt(31_536_000_000) }, { expires: timeAt(60_000) }),
    ],
  ],
  'malformed-context': [
    ['none', resign(omit(wholeDocument, '@context'), { '@context': undefined })],
    ['only that of credentials', withContext(['https://www.w3.org/ns/credentials/v2'])],
    ['in the other order', withContext([...contextOf(credential)].reverse())],
    ['a third one', withContext([...contextOf(credential), 'https://evil.test/context'])],
    ['terms of its own', withContext([...contextOf(credential), { id: 'https://evil.test/id' }])],
    ['a text', withContext('https://www.w3.org/ns/credentials/v2')],
    ['none in the proof', { ...credential, proof: omit(wholeProof, '@context') }],
    ['another one in the proof', tamperedProof({ '@context': [...contextOf(credential)].reverse() })],
  ],
  'malformed-type': [
    ['none', resign(omit(wholeDocument, 'type'))],
    ['only the general one', withDocument({ type: ['VerifiableCredential'] })],
    ['a text', withDocument({ type: 'PlatformIdentityCredential' })],
    ['another kind of credential', withDocument({ type: ['VerifiableCredential', 'UniversityDegreeCredential'] })],
    ['one more', withDocument({ type: ['VerifiableCredential', 'PlatformIdentityCredential', 'X'] })],
    ['the same twice', withDocument({ type: ['VerifiableCredential', 'VerifiableCredential'] })],
  ],
  'invalid-signature': [
    ['another subject', tampered({ credentialSubject: { ...subjectOf(credential), id: 'slack:T123/ADMIN' } })],
    ['one member more', tampered({ name: 'added' })],
    ['a longer life', tampered({ validUntil: timeAt(400_000) })],
    ['another time in the proof', tamperedProof({ created: timeAt(-2_000) })],
    ['a proof of another credential', tamperedProof({ proofValue: proofValueOf(withProof({ nonce: 'x' })) })],
    ['the key of somebody else', issuePlatformCredential(draft, { ...signer, privateKey: otherKey.privateKey })],
    ['a shorter one', tamperedProof({ proofValue: proofValueOf(credential).slice(0, -2) })],
    ['not base58', tamperedProof({ proofValue: `z${'0'.repeat(86)}` })],
    ['another base', tamperedProof({ proofValue: `u${proofValueOf(credential).slice(1)}` })],
    ['a key that the document does not have', issuePlatformCredential(draft, { ...signer, fragment: 'key-9' })],
    [
      'a key that is only there to authenticate',
      credential,
      published({ assertionMethod: [], authentication: [`${did}#key-1`] }),
    ],
    ['a key that was revoked', credential, publishedMethod({ revoked: timeAt(-1) })],
    ['a key that has expired', credential, publishedMethod({ expires: timeAt(0) })],
    ['two keys of one name', credential, published({ verificationMethod: [method, method] })],
    [
      'a key of another kind',
      credential,
      publishedMethod({ publicKeyMultibase: 'zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme' }),
    ],
    ['a key in another form', credential, publishedMethod({ type: 'Ed25519VerificationKey2020' })],
    ['the former key', issuePlatformCredential(draft, { privateKey: formerKey.privateKey, fragment: 'key-1' })],
  ],
  'issuer-controller-mismatch': [
    ['a key of another issuer', withProof({ verificationMethod: `${otherDid}#key-1` })],
    [
      'a key of another issuer, and signed with it',
      secureCredential(wholeDocument, {
        privateKey: otherKey.privateKey,
        options: { ...wholeOptions, verificationMethod: `${otherDid}#key-1` },
      }),
    ],
    ['an issuer that begins like it', withProof({ verificationMethod: `${did}.evil.test#key-1` })],
    ['a key without fragment', withProof({ verificationMethod: did })],
    ['a key that another controls', credential, publishedMethod({ controller: otherDid })],
    [
      'a key in place that another controls',
      credential,
      published({ assertionMethod: [{ ...method, controller: otherDid }] }),
    ],
    ['a document of another', credential, published({ id: otherDid })],
  ],
  malformed: [
    ['no end', resign(omit(wholeDocument, 'validUntil'))],
    ['no beginning', resign(omit(wholeDocument, 'validFrom'))],
    ['a time without zone', withDocument({ validUntil: '2026-08-01T12:04:00' })],
    ['an end before the beginning', signFor(60_000, -10_000)],
    ['no subject', resign(omit(wholeDocument, 'credentialSubject'))],
    ['several subjects', withDocument({ credentialSubject: [subjectOf(credential)] })],
    ['a subject without id', withDocument({ credentialSubject: omit(subjectOf(credential), 'id') })],
    ['a subject with a blank', withSubject({ id: 'slack:T123/U 1' })],
    ['a subject with a character nobody sees', withSubject({ id: 'slack:T123/U\u200b1' })],
    ['a subject that climbs out', withSubject({ id: 'slack:T123/../T999/U1' })],
    ['a method that is no text', withSubject({ method: ['a', 'b'] })],
    ['an issuer that is an object', withDocument({ issuer: { id: did } })],
    [
      'an issuer of another DID method',
      withDocument({ issuer: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK' }),
    ],
    ['an issuer that is a host', withDocument({ issuer: host })],
    ['a status that nobody here looks up', withDocument({ credentialStatus: { type: 'BitstringStatusListEntry' } })],
    ['terms of use', withDocument({ termsOfUse: [{ type: 'X' }] })],
    ['two proofs', { ...credential, proof: [wholeProof, wholeProof] }],
    ['another suite', withProof({ cryptosuite: 'eddsa-rdfc-2022' })],
    ['another kind of proof', withProof({ type: 'Ed25519Signature2020' })],
    ['a proof for another purpose', withProof({ proofPurpose: 'authentication' })],
    ['a proof that goes before', withProof({ previousProof: 'urn:uuid:1' })],
    ['a proof for no domain', withProof({ domain: undefined })],
    ['a proof for several domains', withProof({ domain: [audience, '@echo@agents.test'] })],
    ['a proof without challenge', withProof({ challenge: undefined })],
    ['what has no canonical form', tampered({ name: '\ud800' })],
  ],
  'untrusted-issuer': [
    ['one whom nobody has named', issuePlatformCredential({ ...draft, issuer: strangerDid }, signer)],
    ['a host whose DID is trusted', issuePlatformCredential({ ...draft, issuer: `${did}:teams:T999` }, signer)],
  ],
  'untrusted-method': [['one it is not trusted for', withSubject({ method: 'urn:mentionable:auth:email-dmarc:v0.1' })]],
  'untrusted-assurance': [['more than it is trusted for', withSubject({ assurance: 'wallet' })]],
  'untrusted-subject': [
    ['of another workspace', withSubject({ id: 'slack:T999/U456' })],
    ['of a workspace that begins like it', withSubject({ id: 'slack:T1234/U456' })],
    ['other capitals', withSubject({ id: 'Slack:T123/U456' })],
  ],
  'untrusted-delegation': [
    ['without the assurance for it', withSubject({ on_behalf_of: ['slack:T123/U1'] })],
    ['for somebody of another workspace', withSubject({ assurance: 'delegated', on_behalf_of: ['slack:T999/U1'] })],
  ],
  'key-unavailable': [
    ['no document', credential, { [didUrl]: null }],
    ['a document that is none', credential, { [didUrl]: ['not', 'a', 'document'] }],
  ],
}

export const credentialCases: readonly EvidenceCase[] = Object.entries(rows).flatMap(([code, list]) =>
  list.map(([name, evidence, documents]) => ({
    name: `${code}: ${name}`,
    carrier: 'verifiable_credentials' as const,
    code: code === 'accepted' ? null : (code as EvidenceCode),
    evidence,
    ...(documents && { documents }),
  })),
)

function contextOf({ '@context': context }: Members): readonly unknown[] {
  return context as readonly unknown[]
}

function withContext(context: unknown): Members {
  return resign({ ...wholeDocument, '@context': context }, { '@context': context })
}

function proofValueOf({ proof }: Members): string {
  return (proof as { readonly proofValue: string }).proofValue
}
