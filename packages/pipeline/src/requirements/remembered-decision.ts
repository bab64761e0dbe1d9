// Plans the record of a decision on a tool call that also counts for later calls.
import { hash } from 'node:crypto'
import type { ApprovalAction, Approver, NormalizedMessage, RememberScope, Sender } from '@postern/message'
import {
  isForOperator,
  isoTime,
  isPersonal,
  Rejection,
  readApproval,
  rememberScopes,
  subjectOf,
} from '@postern/message'
import type { RequirementDecision, RequirementRecord } from '../ports/records/requirement-record.ts'
import type { RememberedDecision } from '../ports/store/remembered-store.ts'
import { rememberedDecisionKind } from '../ports/store/remembered-store.ts'

/** The maximum number of remembered decisions of one person with one agent. One more replaces the oldest. */
export const maxRememberedDecisions = 50

/** The subject of a remembered decision. Each subject has one decision at most. */
interface RememberedSubject {
  readonly agent: string
  readonly tool: string
  /** Names the calls of the tool that have arguments of one kind; absent for all calls. */
  readonly calls?: string | undefined
  readonly member?: string | undefined
  readonly approver: Approver
  readonly subject: string
  /** The conversation in which the decision counts; absent for all conversations. */
  readonly thread?: number | undefined
}

interface RememberedRecordKey {
  readonly kind: string
  readonly owner: string
  readonly key: string
}

/** Returns the key of a remembered decision in the record store. */
export function rememberedRecordKey({
  agent,
  tool,
  calls,
  member,
  approver,
  subject,
  thread,
}: RememberedSubject): RememberedRecordKey {
  const callsComponent = calls === undefined ? [] : [calls]
  const components = JSON.stringify([agent, approver, subject, member ?? null, tool, thread ?? null, ...callsComponent])
  return { kind: rememberedDecisionKind, owner: `agent:${agent}`, key: hash('sha256', components).slice(0, 32) }
}

const dayMs = 86_400_000

/** Plans the record of a decision; undefined if the decision counts only once. `sender` wrote the message that caused the requirement. */
export function planRemembered(
  requirement: RequirementRecord,
  { remember: scope, outcome, resolver }: RequirementDecision,
  { sender, now }: { readonly sender: Sender; readonly now: number },
):
  | { readonly recordKey: RememberedRecordKey; readonly value: RememberedDecision; readonly expiresAt: number }
  | undefined {
  const action = readApproval(requirement.policy)
  if (!scope || !action?.remember) return undefined
  const subjectFields = describeRememberedSubject(requirement, action, sender)
  const { tool, calls, member, approver, subject } = subjectFields
  const recordKey = rememberedRecordKey(
    scope === 'conversation' ? { ...subjectFields, thread: requirement.thread } : subjectFields,
  )
  const expiresAt = now + action.remember.days * dayMs
  const value = {
    id: recordKey.key,
    requirement: requirement.id,
    tool,
    ...(calls !== undefined && { calls }),
    ...(member !== undefined && { member }),
    approver,
    subject,
    policy: outcome === 'granted' ? 'direct' : 'forbidden',
    scope,
    thread: requirement.thread,
    address: requirement.address,
    resolver: [resolver.method, resolver.subject].filter(Boolean).join(' '),
    given_at: isoTime(now),
    expires_at: isoTime(expiresAt),
  } as const
  return { recordKey, value, expiresAt }
}

function describeRememberedSubject(
  requirement: RequirementRecord,
  { kind: tool, agent: member, remember }: ApprovalAction,
  sender: Sender,
) {
  const approver: Approver = isForOperator(requirement.policy) ? 'operator' : 'sender'
  const subject = subjectOf(sender)
  return {
    agent: requirement.agent,
    tool,
    calls: remember?.calls,
    member,
    approver,
    subject,
  } satisfies RememberedSubject
}

/** Lists the ids of the remembered decisions that apply to a requirement, the narrowest first. */
export function listRememberedIds(requirement: RequirementRecord, sender: Sender): readonly string[] {
  const action = readApproval(requirement.policy)
  if (!action) return []
  const subject = describeRememberedSubject(requirement, action, sender)
  return [{ ...subject, thread: requirement.thread }, subject].map(
    subjectFields => rememberedRecordKey(subjectFields).key,
  )
}

/** Returns the channel and address of a person as one key, by which their decisions are found and deleted. */
export function formatDeciderKey(via: string, address: string): string {
  return `${via} ${address.toLowerCase()}`
}

/**
 * Returns true if a sender's decision can count for later calls: the next message under the same name must certainly be theirs. Proof of a whole
 * domain is not enough, and neither is a message from a mailing list.
 */
export function mayBeRemembered({ sender }: Pick<NormalizedMessage, 'sender'>, flags: readonly string[] = []): boolean {
  return sender.verified && isPersonal(flags) && hasOwnProof(sender)
}

const ownProofs: ReadonlySet<string> = new Set(['address', 'oauth'])

function hasOwnProof({ identities = [] }: Sender): boolean {
  const provenIdentity = identities.find(({ proof }) => proof.type === 'transport')
  return provenIdentity !== undefined && ownProofs.has(String(provenIdentity.assurance))
}

/**
 * Reads the later calls for which a decision counts; undefined if it counts only once.
 * @throws Rejection `malformed` for an unknown scope, `forbidden` for one that the requirement does not offer
 */
export function readRemember(value: unknown, { policy }: Pick<RequirementRecord, 'policy'>): RememberScope | undefined {
  if (value === undefined || value === null || value === 'once') return undefined
  const scope = rememberScopes.find(rememberScope => rememberScope === value)
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
