// Lists cases of signed and unsigned attestations, with their expected results.
import type { EvidenceCode } from '@postern/pipeline'
import { signAttestation, writeConnectorCard } from '../src/index.ts'
import type { EvidenceCase, Members } from './fixtures.ts'
import {
  audience,
  chatMemberMethod,
  connectorKey,
  formerKey,
  host,
  messageId,
  now,
  omit,
  otherHost,
  otherKey,
  strangerHost,
  timeAt,
} from './fixtures.ts'

const { privateKey, publicKey } = connectorKey
const signer = { privateKey, kid: 'k1' }
const cardUrl = `https://${host}/.well-known/adapter-card`
const ownCard = writeConnectorCard({
  issuer: host,
  name: 'Slack',
  keys: [{ kid: 'k1', publicKey }],
  previousKeys: [{ kid: 'k0', publicKey: formerKey.publicKey }],
  callbackUrls: [`https://${host}/callback`],
})

/** The documents that the connectors publish, by their addresses. */
export const connectorCards: Readonly<Record<string, unknown>> = {
  [cardUrl]: ownCard,
  [`https://${otherHost}/.well-known/adapter-card`]: writeConnectorCard({
    issuer: otherHost,
    keys: [{ kid: 'k1', publicKey: otherKey.publicKey }],
  }),
  [`https://${strangerHost}/.well-known/adapter-card`]: writeConnectorCard({
    issuer: strangerHost,
    keys: [{ kid: 'k1', publicKey }],
  }),
}

const draft = {
  id: 'a-1',
  issuer: host,
  subject: 'slack:T123/U456',
  method: chatMemberMethod,
  assurance: 'platform',
  audience,
  issuedAt: now - 1_000,
  claims: { workspace_name: 'Acme' },
  source: { transport: 'slack', connector: host },
} as const

type Changes = Partial<Omit<Parameters<typeof signAttestation>[0], 'audience'>> & {
  readonly audience?: string | string[]
}

const sign = (changes: Changes = {}, signingKey = signer) => signAttestation({ ...draft, ...changes }, signingKey)
const signFor = (from: number, to: number) => sign({ issuedAt: now + from, lifetimeMs: to - from })
const attestation = sign()
const { proof } = attestation
/** Changes members of an attestation after it was signed. */
const tampered = (members: Members): Members => ({ ...attestation, ...members })
const tamperedProof = (members: Members): Members => ({ ...attestation, proof: { ...proof, ...members } })
const published = (members: Members) => ({ [cardUrl]: { ...ownCard, ...members } })
const [jwk] = ownCard.keys

type Row = readonly [name: string, evidence: unknown, documents?: Readonly<Record<string, unknown>>]

const rows: Readonly<Partial<Record<EvidenceCode | 'accepted', readonly Row[]>>> = {
  accepted: [
    ['a member of a workspace', attestation],
    ['for this message', sign({ messageId })],
    ['for several agents, ours among them', sign({ audience: ['@echo@agents.test', audience] })],
    ['signed with the key before', sign({}, { privateKey: formerKey.privateKey, kid: 'k0' })],
    ['ten minutes', signFor(-300_000, 300_000)],
    ['from a minute ahead on', signFor(60_000, 300_000)],
    ['to a minute ago, less a millisecond', signFor(-300_000, -59_999)],
    ['who acts for a member', sign({ assurance: 'delegated', onBehalfOf: ['slack:T123/U1'] })],
  ],
  'wrong-domain': [
    ['for another agent of the same house', sign({ audience: '@echo@agents.test' })],
    ['for agents elsewhere', sign({ audience: ['@desk@elsewhere.test', 'agents.test'] })],
  ],
  'challenge-mismatch': [['for another message', sign({ messageId: 'another-message' })]],
  expired: [['a minute ago', signFor(-300_000, -60_000)]],
  'not-yet-valid': [['more than a minute ahead', signFor(60_001, 300_000)]],
  'ttl-exceeded': [['a millisecond more than ten minutes', signFor(-300_000, 300_001)]],
  'invalid-signature': [
    ['another subject', tampered({ subject: 'slack:T123/ADMIN' })],
    ['a member more', tampered({ extra: true })],
    ['other claims', tampered({ claims: { workspace_name: 'Evil' } })],
    ['a longer life', tampered({ expires_at: timeAt(400_000) })],
    ['the name of another key', tamperedProof({ kid: 'k0' })],
    ['a name that no key has', sign({}, { privateKey, kid: 'k9' })],
    ['another algorithm', tamperedProof({ alg: 'ES256' })],
    ['the key of somebody else', sign({}, { privateKey: otherKey.privateKey, kid: 'k1' })],
    ['shorter', tamperedProof({ value: 'AAAA' })],
    ['two keys of one name', attestation, published({ previous_keys: [jwk] })],
    ['a key for encryption', attestation, published({ keys: [{ ...jwk, use: 'enc' }] })],
    ['a key for another algorithm', attestation, published({ keys: [{ ...jwk, alg: 'ES256' }] })],
    ['a key whose private half is published', attestation, published({ keys: [{ ...jwk, d: 'AAAA' }] })],
    ['a key that is none', attestation, published({ keys: [{ ...jwk, x: 'AAAA' }] })],
  ],
  'issuer-controller-mismatch': [['a card of another', attestation, published({ issuer: otherHost })]],
  'unsupported-proof': [
    ['transport: only its own door knows', { ...attestation, proof: { type: 'transport', verified_by: 'slack' } }],
    ['bearer-token', { ...attestation, proof: { type: 'bearer-token', verified_by: 'slack', token_hash: 'x' } }],
    ['one that nobody knows', { ...attestation, proof: { type: 'signed-attestation-v9' } }],
  ],
  malformed: [
    ['no proof', omit(attestation, 'proof')],
    ['a proof that is a text', { ...attestation, proof: 'trust me' }],
    ['no audience', omit(attestation, 'audience')],
    ['no end', omit(attestation, 'expires_at')],
    ['no beginning', omit(attestation, 'issued_at')],
    ['an end before the beginning', signFor(10_000, -10_000)],
    ['no algorithm', tamperedProof({ alg: 'none' })],
    ['a shared secret', tamperedProof({ alg: 'HS256' })],
    ['another canonical form', tamperedProof({ canonicalization: 'rdfc' })],
    ['a proof that names its own key', tamperedProof({ jwk })],
    ['an issuer that is an address', sign({ issuer: `https://${host}` })],
    ['an issuer with a path', sign({ issuer: `${host}/x` })],
    ['an issuer with capitals', sign({ issuer: 'Slack.connector.test' })],
    ['an issuer that is an address of this machine', sign({ issuer: '127.0.0.1' })],
    ['a subject that climbs out', sign({ subject: 'slack:T123/../T999/U1' })],
    ['no subject', sign({ subject: '' })],
    ['claims that are a list', tampered({ claims: ['x'] })],
    ['what has no canonical form', tampered({ claims: { text: '\ud800' } })],
  ],
  'untrusted-issuer': [['one whom nobody has named', sign({ issuer: strangerHost })]],
  'untrusted-method': [['one it is not trusted for', sign({ method: 'urn:mentionable:auth:email-dmarc:v0.1' })]],
  'untrusted-assurance': [['more than it is trusted for', sign({ assurance: 'wallet' })]],
  'untrusted-subject': [
    ['of another workspace', sign({ subject: 'slack:T999/U456' })],
    ['of a workspace that begins like it', sign({ subject: 'slack:T1234/U456' })],
  ],
  'untrusted-delegation': [
    ['without the assurance for it', sign({ onBehalfOf: ['slack:T123/U1'] })],
    ['for somebody of another workspace', sign({ assurance: 'delegated', onBehalfOf: ['slack:T1234/U1'] })],
  ],
  'key-unavailable': [
    ['no card', attestation, { [cardUrl]: null }],
    ['a card that is none', attestation, published({ keys: [] })],
  ],
}

export const attestationCases: readonly EvidenceCase[] = Object.entries(rows).flatMap(([code, list]) =>
  list.map(([name, evidence, documents]) => ({
    name: `${code}: ${name}`,
    carrier: 'identity_evidence' as const,
    code: code === 'accepted' ? null : (code as EvidenceCode),
    evidence,
    ...(documents && { documents }),
  })),
)
