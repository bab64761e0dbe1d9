// Decides by proven identities who may speak to an agent.
import { z } from 'zod'
import { agentFlag } from '../loop-limits.ts'
import type { Sender, SenderProfile } from '../message.ts'
import type { IdentityEvidence } from './identity.ts'

/** The members of proven evidence that a query may name. */
const identityCriteria = ['method', 'issuer', 'assurance', 'subject', 'subject_prefix'] as const

type Criterion = (typeof identityCriteria)[number]

/** A query that one identity must meet in all its criteria. Members of a profile, which senders merely claim, cannot be queried. */
export type IdentityQuery = { readonly [Name in Criterion]?: string | undefined } & {
  /** Statements of the issuer that the evidence must have, by their names. */
  readonly claims?: Readonly<Record<string, string>> | undefined
} & {
  readonly [Name in keyof KnownMembers<SenderProfile>]?: never
}

type KnownMembers<Loose> = { [Name in keyof Loose as string extends Name ? never : Name]: Loose[Name] }

/** The rules about who may speak to an agent. A denial wins. Without `allow` everyone may, including senders without proof. */
export interface AgentAccess {
  readonly allow?: readonly IdentityQuery[] | undefined
  readonly deny?: readonly IdentityQuery[] | undefined
}

const criterion = z.string().min(1).max(512)

const ruleSchema = z
  .strictObject({
    /** Method (URN) of the evidence. */
    method: criterion.optional(),
    /** Issuer of the evidence. */
    issuer: criterion.optional(),
    /** Assurance of the evidence. */
    assurance: criterion.optional(),
    /** Subject of the evidence. */
    subject: criterion.optional(),
    /** Prefix of the subject, by whole segments: `slack:T123/`. */
    subject_prefix: criterion.optional(),
    /** Statements of the issuer that the evidence must have, by their names. */
    claims: z
      .record(z.string(), criterion)
      .refine(claims => Object.keys(claims).length > 0, 'needs a claim')
      .optional(),
  })
  .refine(
    rule => Object.values(rule).some(value => value !== undefined),
    `needs one of: ${[...identityCriteria, 'claims'].join(', ')}`,
  )

const isAnchored = ({ method, issuer, subject, subject_prefix, claims }: IdentityQuery) =>
  method !== undefined ||
  issuer !== undefined ||
  (subject === undefined && subject_prefix === undefined && claims === undefined)

/** The keys `allow` and `deny` of an agent's configuration. */
export const agentAccessShape = {
  /** Only senders that one of these rules fits may speak to the agent; default: everyone. */
  allow: z.array(ruleSchema.refine(isAnchored, 'needs method or issuer, too')).max(1_000).optional(),
  /** Senders that one of these rules fits may not speak to the agent, whatever `allow` says. */
  deny: z.array(ruleSchema).max(1_000).optional(),
} as const

/**
 * Returns true if a subject is below a prefix, by whole segments: `slack:T123/` and `slack:T123` contain `slack:T123/U4`, but not
 * `slack:T1234/U4`. Segments end at `/` and `:`.
 */
export function hasSubjectPrefix(subject: string, prefix: string): boolean {
  if (prefix === '' || !subject.startsWith(prefix)) return false
  const next = subject.at(prefix.length)
  return next === undefined || /[/:]$/.test(prefix) || next === '/' || next === ':'
}

/** Returns true if the sender may speak to the agent. Everyone on whose behalf they claim to act must be allowed as well. */
export function mayAccess({ identities = [] }: Pick<Sender, 'identities'>, { allow, deny = [] }: AgentAccess): boolean {
  const principals = identities.flatMap(listPrincipals)
  const everybody = [...identities, ...principals]
  if (everybody.some(identity => deny.some(rule => meets(identity, rule, 'denial')))) return false
  if (!allow) return true
  const isAllowed = (identity: IdentityEvidence) => allow.some(rule => meets(identity, rule, 'grant'))
  return identities.some(isAllowed) && principals.every(isAllowed)
}

/** Returns true if one of the identities meets a query, and so does everyone on whose behalf any of them acts. */
export function haveIdentity(identities: readonly IdentityEvidence[], query: IdentityQuery): boolean {
  const fits = (identity: IdentityEvidence) => meets(identity, query, 'grant')
  return identities.some(fits) && identities.flatMap(listPrincipals).every(fits)
}

/** Lists those on whose behalf the subject acts, each as the same evidence with their subject. */
function listPrincipals({ on_behalf_of = [], ...evidence }: IdentityEvidence): readonly IdentityEvidence[] {
  return on_behalf_of.map(subject => ({ ...evidence, subject }))
}

const tests: { readonly [Name in Criterion]: (evidence: IdentityEvidence, expected: string) => boolean } = {
  method: ({ method }, expected) => method === expected,
  issuer: ({ issuer }, expected) => issuer === expected,
  assurance: ({ assurance }, expected) => assurance === expected,
  subject: ({ subject }, expected) => subject === expected,
  subject_prefix: ({ subject }, expected) => hasSubjectPrefix(subject, expected),
}

/** Returns true if evidence meets a query. An unknown or empty criterion is never met, so that a typo in a query grants nothing. */
function meets(evidence: IdentityEvidence, query: IdentityQuery, purpose: 'grant' | 'denial'): boolean {
  const { claims, ...criteria } = query
  const entries = Object.entries(criteria)
  if (entries.length === 0 && claims === undefined) return false
  if (claims !== undefined && !hasClaims(evidence, claims)) return false
  if (purpose === 'grant' && !isAnchored(query) && isNamedByIssuer(evidence)) return false
  return entries.every(([name, expected]) => {
    const test = Object.hasOwn(tests, name) ? tests[name as Criterion] : undefined
    return typeof expected === 'string' && expected !== '' && test?.(evidence, expected) === true
  })
}

/** Returns true if the evidence has all these claims. An empty list is never met. */
function hasClaims({ claims = {} }: IdentityEvidence, expectedClaims: unknown): boolean {
  const entries = Object.entries(Object(expectedClaims) as object)
  return entries.length > 0 && entries.every(([name, value]) => Object.hasOwn(claims, name) && claims[name] === value)
}

/** Returns true if the issuer of a token chose the subject, which may therefore look like a subject of another kind. */
function isNamedByIssuer({ proof, assurance }: IdentityEvidence): boolean {
  return proof.type === 'transport' && assurance === 'oauth'
}

/**
 * Returns the key of the principal that the transport proved, together with the people for whom it speaks by other evidence: many people may use
 * one connector, and none of them decides for another. The key contains the kind of credential (the API key "ann" is not the account "ann") and the
 * role of each name (a bot for its boss is not the boss for the bot). A sender without proof is known only by their address.
 */
export function subjectOf({ address, identities = [], verified }: Sender): string {
  const provenIdentity = verified ? identities.find(({ proof }) => proof.type === 'transport') : undefined
  if (!provenIdentity) return `unverified ${address}`
  const { issuer, subject, proof } = provenIdentity
  const kind = proof.type === 'transport' && proof.credential ? [proof.credential] : []
  const people = identities.filter(identity => identity.proof.type !== 'transport').map(describeBehind)
  return JSON.stringify([...kind, issuer, subject, ...new Set(people.sort())])
}

/** Describes a person who speaks through the transport's principal. The people for whom they act in turn are a nested list. */
function describeBehind({ issuer, subject, on_behalf_of = [] }: IdentityEvidence): string {
  return JSON.stringify([issuer, subject, ...(on_behalf_of.length > 0 ? [[...new Set(on_behalf_of)].sort()] : [])])
}

/**
 * The flag of a message whose author is proven, but which another party may have delivered or repeated, because the proof does not cover its
 * recipient and time.
 */
export const replayFlag = 'may_be_replayed'

/** Returns true if a message with these flags may be a person's own word. */
export function isPersonal(flags: readonly string[]): boolean {
  return !flags.some(flag => impersonalFlags.includes(flag))
}

/** The flags of messages that are not a person's own word: from a list, a contact form, a program or a local agent, or a possible copy. */
export const impersonalFlags: readonly string[] = [
  ...[agentFlag, replayFlag, 'by_list', 'by_form', 'list', 'bulk', 'auto_reply', 'sibling'],
]

/** A line of an agent's profile, as plain text. A value that is only an https address is shown as a link. */
export interface ProfileField {
  readonly name: string
  readonly value: string
}

export function isLinkField({ value }: ProfileField): boolean {
  return /^https:\/\/\S+$/i.test(value) && URL.canParse(value)
}
