import { hash } from 'node:crypto'
import { z } from 'zod'
import type { ApprovalAction, RememberScope } from './approval.ts'
import { readApproval, rememberScopes } from './approval.ts'
import type { Approver } from './approver.ts'
import { approvers, isForOperator } from './approver.ts'
import { Rejection } from './errors.ts'
import type { NormalizedMessage, Sender } from './message.ts'
import { isPersonal } from './person-identity.ts'
import { isoTime } from './platform.ts'
import type { Page } from './records.ts'
import type { RequirementDecision, RequirementRecord } from './requirement.ts'
import { subjectOf } from './requirement.ts'

/** Of one person with one agent; of more the oldest goes. */
export const mostRemembered = 50

/** As what such a call counts from now on: it runs at once, or never. */
const rememberedPolicies = ['direct', 'forbidden'] as const

/** A decision on one call that counts for later calls of the same tool, too: for whom it was decided, and for nobody else. */
export const rememberedDecisionSchema = z.object({
  id: z.string(),
  /** Public id of the requirement that was decided. */
  requirement: z.string(),
  tool: z.string(),
  /** Which of several agents behind one address calls it. */
  member: z.string().optional(),
  approver: z.enum(approvers),
  policy: z.enum(rememberedPolicies),
  scope: z.enum(rememberScopes),
  /** The store's number of the conversation in which it was decided. */
  thread: z.number(),
  /** Whose calls, as `subjectOf` names him, and his address. */
  subject: z.string(),
  address: z.string(),
  /** How it was decided, and by whom. */
  resolver: z.string(),
  /** ISO 8601 UTC. */
  given_at: z.string(),
  expires_at: z.string(),
})

export type RememberedDecision = z.infer<typeof rememberedDecisionSchema>

export type ListedDecision = RememberedDecision & { readonly place: number }

/** What a remembered decision is about: there is one of it at most. */
interface RememberedAbout {
  readonly agent: string
  readonly tool: string
  readonly member?: string | undefined
  readonly approver: Approver
  readonly subject: string
  /** Of a conversation alone; absent: of all. */
  readonly thread?: number | undefined
}

interface RecordPlace {
  readonly kind: string
  readonly owner: string
  readonly key: string
}

/** Where it lies on the record store. */
export function rememberedPlace({ agent, tool, member, approver, subject, thread }: RememberedAbout): RecordPlace {
  const about = JSON.stringify([agent, approver, subject, member ?? null, tool, thread ?? null])
  return { kind: rememberedKind, owner: `agent:${agent}`, key: hash('sha256', about).slice(0, 32) }
}

export const rememberedKind = 'remembered-decision'

/** Decisions that count for calls that come later. */
export interface RememberedStore {
  /** Newest first, those that are over left out. `persons`: theirs alone, as `personKeyOf` names them. */
  listRemembered(
    filter: { readonly agent: string; readonly persons?: readonly string[] | undefined } & Page,
  ): Promise<readonly ListedDecision[]>
  findRemembered(key: { readonly agent: string; readonly id: string }): Promise<RememberedDecision | undefined>
  /** What still counts of what was decided on it. */
  findRememberedOf(requirement: RequirementRecord): Promise<RememberedDecision | undefined>
  /** Whoever decides is asked again. False when there is none. */
  revokeRemembered(key: { readonly agent: string; readonly id: string }): Promise<boolean>
}

const dayMs = 86_400_000

/** What is kept of a decision that counts for later calls; undefined when it counts once. `sender`: of whoever was talking. */
export function planRemembered(
  requirement: RequirementRecord,
  { remember: scope, outcome, resolver }: RequirementDecision,
  { sender, now }: { readonly sender: Sender; readonly now: number },
): { readonly place: RecordPlace; readonly value: RememberedDecision; readonly until: number } | undefined {
  const action = readApproval(requirement.policy)
  if (!scope || !action?.remember) return undefined
  const about = describeAbout(requirement, action, sender)
  const { tool, member, approver, subject } = about
  const place = rememberedPlace(scope === 'conversation' ? { ...about, thread: requirement.thread } : about)
  const until = now + action.remember.days * dayMs
  const value = {
    id: place.key,
    requirement: requirement.id,
    tool,
    ...(member !== undefined && { member }),
    approver,
    subject,
    policy: outcome === 'granted' ? 'direct' : 'forbidden',
    scope,
    thread: requirement.thread,
    address: requirement.address,
    resolver: [resolver.method, resolver.subject].filter(Boolean).join(' '),
    given_at: isoTime(now),
    expires_at: isoTime(until),
  } as const
  return { place, value, until }
}

function describeAbout(requirement: RequirementRecord, { kind: tool, agent: member }: ApprovalAction, sender: Sender) {
  const approver: Approver = isForOperator(requirement.policy) ? 'operator' : 'sender'
  return { agent: requirement.agent, tool, member, approver, subject: subjectOf(sender) } satisfies RememberedAbout
}

/** Of what may be remembered of a decision on it, the narrowest first. */
export function listRememberedIds(requirement: RequirementRecord, sender: Sender): readonly string[] {
  const action = readApproval(requirement.policy)
  if (!action) return []
  const about = describeAbout(requirement, action, sender)
  return [{ ...about, thread: requirement.thread }, about].map(each => rememberedPlace(each).key)
}

/** The channel and address by which a person is forgotten. */
export function personKeyOf(via: string, address: string): string {
  return `${via} ${address.toLowerCase()}`
}

/**
 * Whether what is decided for a sender can count beyond this once: only where the next message of the same name is surely his. A domain that vouches
 * for its users as a whole is not enough, nor is what came by a list.
 */
export function mayBeRemembered({ sender }: Pick<NormalizedMessage, 'sender'>, flags: readonly string[] = []): boolean {
  return sender.verified && isPersonal(flags) && hasOwnProof(sender)
}

const ownProofs: ReadonlySet<string> = new Set(['address', 'oauth'])

function hasOwnProof({ identities = [] }: Sender): boolean {
  const proven = identities.find(({ proof }) => proof.type === 'transport')
  return proven !== undefined && ownProofs.has(String(proven.assurance))
}

/**
 * How far a decision is to count; undefined: this once.
 * @throws Rejection malformed, forbidden
 */
export function readRemember(
  wanted: unknown,
  { policy }: Pick<RequirementRecord, 'policy'>,
): RememberScope | undefined {
  if (wanted === undefined || wanted === null || wanted === 'once') return undefined
  const scope = rememberScopes.find(known => known === wanted)
  if (!scope) {
    throw new Rejection('malformed', 'Cannot decide: "remember" must be "once", "conversation" or "always"', {
      violations: [{ field: 'remember', description: 'must be "once", "conversation" or "always"' }],
    })
  }
  if (readApproval(policy)?.remember?.scopes.includes(scope)) return scope
  throw new Rejection('forbidden', 'Cannot decide: this counts once, and is not remembered', {
    violations: [{ field: 'remember', description: 'is not offered' }],
  })
}
