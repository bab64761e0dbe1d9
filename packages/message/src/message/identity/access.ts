// Decides by proven identities who may speak to an agent.
import { z } from 'zod'
import { agentFlag } from '../loop-limits.ts'
import type { Sender, SenderProfile } from '../message.ts'
import type { IdentityEvidence } from './identity.ts'

/** The facts about an identity that a query may name: facts that were proven. */
const identityCriteria = ['method', 'issuer', 'assurance', 'subject', 'subject_prefix'] as const

type Criterion = (typeof identityCriteria)[number]

/** One identity has to meet all given criteria. What senders claim of themselves (a profile) cannot be queried here. */
export type IdentityQuery = { readonly [Name in Criterion]?: string | undefined } & {
  readonly [Name in keyof KnownMembers<SenderProfile>]?: never
}

type KnownMembers<Loose> = { [Name in keyof Loose as string extends Name ? never : Name]: Loose[Name] }

/** The rules about who may speak to an agent. A denial wins; without `allow` everyone may, also senders without proof. */
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
  })
  .refine(
    rule => Object.values(rule).some(value => value !== undefined),
    `needs one of: ${identityCriteria.join(', ')}`,
  )

const isAnchored = ({ method, issuer, subject, subject_prefix }: IdentityQuery) =>
  method !== undefined || issuer !== undefined || (subject === undefined && subject_prefix === undefined)

/** The keys `allow` and `deny` of an agent's configuration. */
export const agentAccessShape = {
  /** Only senders that one of these rules fits may speak to the agent; default: everyone. */
  allow: z.array(ruleSchema.refine(isAnchored, 'needs method or issuer beside the subject')).max(1_000).optional(),
  /** Senders that one of these rules fits may not speak to the agent, whatever `allow` says. */
  deny: z.array(ruleSchema).max(1_000).optional(),
} as const

/**
 * Tells whether a subject is below a prefix, segment by segment: `slack:T123/` and `slack:T123` hold `slack:T123/U4` and never `slack:T1234/U4`.
 * Segments end at `/` and `:`.
 */
export function hasSubjectPrefix(subject: string, prefix: string): boolean {
  if (prefix === '' || !subject.startsWith(prefix)) return false
  const next = subject.at(prefix.length)
  return next === undefined || /[/:]$/.test(prefix) || next === '/' || next === ':'
}

/** Tells whether the sender may speak to the agent: the sender, and everyone on whose behalf they claim to speak. */
export function mayAccess({ identities = [] }: Pick<Sender, 'identities'>, { allow, deny = [] }: AgentAccess): boolean {
  const principals = identities.flatMap(listPrincipals)
  const everybody = [...identities, ...principals]
  if (everybody.some(one => deny.some(rule => meets(one, rule, 'denial')))) return false
  if (!allow) return true
  const isAllowed = (one: IdentityEvidence) => allow.some(rule => meets(one, rule, 'grant'))
  return identities.some(isAllowed) && principals.every(isAllowed)
}

/** Tells whether one of the identities meets a query, together with everyone on whose behalf it is. */
export function haveIdentity(identities: readonly IdentityEvidence[], query: IdentityQuery): boolean {
  const fits = (one: IdentityEvidence) => meets(one, query, 'grant')
  return identities.some(fits) && identities.flatMap(listPrincipals).every(fits)
}

/** Those for whom the subject acts, each as if it stood there itself: only the subject is another's. */
function listPrincipals({ on_behalf_of = [], ...evidence }: IdentityEvidence): readonly IdentityEvidence[] {
  return on_behalf_of.map(subject => ({ ...evidence, subject }))
}

const tests: { readonly [Name in Criterion]: (evidence: IdentityEvidence, wanted: string) => boolean } = {
  method: ({ method }, wanted) => method === wanted,
  issuer: ({ issuer }, wanted) => issuer === wanted,
  assurance: ({ assurance }, wanted) => assurance === wanted,
  subject: ({ subject }, wanted) => subject === wanted,
  subject_prefix: ({ subject }, wanted) => hasSubjectPrefix(subject, wanted),
}

/** Every named criterion has to be known and have a value: a slip in a query must not grant anything. */
function meets(evidence: IdentityEvidence, query: IdentityQuery, purpose: 'grant' | 'denial'): boolean {
  const entries = Object.entries(query)
  if (entries.length === 0) return false
  if (purpose === 'grant' && !isAnchored(query) && isNamedByIssuer(evidence)) return false
  return entries.every(([name, wanted]) => {
    const test = Object.hasOwn(tests, name) ? tests[name as Criterion] : undefined
    return typeof wanted === 'string' && wanted !== '' && test?.(evidence, wanted) === true
  })
}

/** The issuer chooses the subject of a token, so it may look like a subject of another kind. */
function isNamedByIssuer({ proof, assurance }: IdentityEvidence): boolean {
  return proof.type === 'transport' && assurance === 'oauth'
}

/**
 * Returns the key of the principal that the transport proved, with those for whom they speak by other evidence. Behind one connector are many
 * people, and none of them decides for another. The key holds the kind of the credential (the API key "ann" is not the account "ann") and the
 * role of each name (a bot for its boss is not the boss for the bot). A sender without proof is only their address.
 */
export function subjectOf({ address, identities = [], verified }: Sender): string {
  const proven = verified ? identities.find(({ proof }) => proof.type === 'transport') : undefined
  if (!proven) return `unverified ${address}`
  const { issuer, subject, proof } = proven
  const kind = proof.type === 'transport' && proof.credential ? [proof.credential] : []
  const people = identities.filter(each => each.proof.type !== 'transport').map(describeBehind)
  return JSON.stringify([...kind, issuer, subject, ...new Set(people.sort())])
}

/** Describes who speaks through the transport's principal; the list of those for whom they act in turn stands in a place of its own. */
function describeBehind({ issuer, subject, on_behalf_of = [] }: IdentityEvidence): string {
  return JSON.stringify([issuer, subject, ...(on_behalf_of.length > 0 ? [[...new Set(on_behalf_of)].sort()] : [])])
}

/**
 * A message that its author proves, but that another party may have brought or repeated: the proof does not cover its
 * recipient and time.
 */
export const replayFlag = 'may_be_replayed'

/** By the flags of a message, whether it may be a person's word. */
export function isPersonal(flags: readonly string[]): boolean {
  return !flags.some(flag => impersonalFlags.includes(flag))
}

/** A message by a list or a contact form, from a program or a local agent, or a possible copy, is not a person's own word. */
export const impersonalFlags: readonly string[] = [
  ...[agentFlag, replayFlag, 'by_list', 'by_form', 'list', 'bulk', 'auto_reply', 'sibling'],
]

/** A line of an agent's profile: plain text. A value that is one https address and nothing else is shown as a link. */
export interface ProfileField {
  readonly name: string
  readonly value: string
}

export function isLinkField({ value }: ProfileField): boolean {
  return /^https:\/\/\S+$/i.test(value) && URL.canParse(value)
}
