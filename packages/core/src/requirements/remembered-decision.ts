import { hash } from 'node:crypto'
import { Rejection } from '../format/errors.ts'
import { isPersonal, subjectOf } from '../message/address/access.ts'
import type { RememberScope } from '../message/choices.ts'
import { rememberScopes } from '../message/choices.ts'
import type { NormalizedMessage, Sender } from '../message/message.ts'
import type { ApprovalAction } from '../message/policy.ts'
import { readApproval } from '../message/policy.ts'
import type { Approver } from '../message/response.ts'
import { isForOperator } from '../message/response.ts'
import { isoTime } from '../ports/platform/platform.ts'
import type { RequirementDecision, RequirementRecord } from '../ports/records/requirement-record.ts'
import type { RememberedDecision } from '../ports/requirement-store.ts'
import { rememberedKind } from '../ports/requirement-store.ts'

/** Of one person with one agent; of more the oldest goes. */
export const mostRemembered = 50

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
 * Whether a decision of a sender can count for later calls. The next message of the same name must surely be theirs. A
 * domain that vouches for its users as a whole is not enough, nor is a message by a list.
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
