import { Rejection } from '../format/errors.ts'
import { replayFlag } from '../message/address/access.ts'
import type { RememberScope } from '../message/choices.ts'
import { agentFlag } from '../message/loop-limits.ts'
import type { NormalizedMessage } from '../message/message.ts'
import type { PolicyResolution, ResolutionOutcome } from '../message/policy.ts'
import type { RequirementKind } from '../message/response.ts'
import { isForOperator } from '../message/response.ts'
import type { Intake } from '../ports/records/intake.ts'
import type {
  RequirementDecision,
  RequirementObjection,
  RequirementRecord,
} from '../ports/records/requirement-record.ts'
import type { Turn } from '../ports/records/work.ts'

/** The message that caused a requirement, as far as its decision goes the same way. */
interface RequirementOrigin extends Pick<Turn, 'content' | 'target' | 'flags' | 'task'> {
  /** Of its thread. */
  readonly scope: string
  /** Principal whose words it was. */
  readonly author?: string | undefined
}

/** The kind of writer counts for a decision, too: an agent’s words are no person’s. */
const keptFlags: readonly string[] = [agentFlag, replayFlag, 'by_list']

/** What the agent is told of a decision. Pure. `at`: ISO 8601 UTC. */
export function describeResolution(
  { id, policy }: Pick<RequirementRecord, 'id' | 'policy'>,
  { digest, kind, outcome, resolver, receipt, args, remember }: RequirementDecision,
  at: string,
): PolicyResolution {
  return {
    in_reply_to_state: digest,
    requirement: id,
    kind,
    outcome,
    resolved_at: at,
    resolver,
    ...(receipt && { receipt: { provider: receipt.provider, reference: receipt.reference } }),
    ...(args !== undefined && { args }),
    ...(remember && { remember }),
    ...(isForOperator(policy) && { approver: 'operator' as const }),
    ...(policy.code !== undefined && { code: policy.code }),
    ...(policy.data && { data: policy.data }),
  }
}

/** The id of the message that a decision on a requirement is. */
export function resolutionIdOf(requirement: string): string {
  return `urn:postern:resolution:${requirement}`
}

/** A decision as the message it stands for: of the one who was asked, in the same thread, by the same channel. Pure. */
export function createResolutionIntake(
  requirement: RequirementRecord,
  decision: RequirementDecision,
  { content, target, scope, task, author, flags }: RequirementOrigin,
  at: string,
): Intake {
  const resolution = describeResolution(requirement, decision, at)
  const { thread_id, sender, recipient, recipient_capabilities, received_via } = content
  const id = resolutionIdOf(requirement.id)
  return {
    agent: requirement.agent,
    message: {
      id,
      thread_id,
      sender,
      recipient,
      parts: [{ kind: 'text', mime: 'text/plain', content: sayDecision(requirement, decision) }],
      recipient_capabilities,
      received_via,
      received_at: at,
      policy_resolution: resolution,
    },
    duplicateKey: id,
    thread: { scope, references: [content.id] },
    aliases: [],
    proofs: [{ kind: 'requirement', verdict: 'pass', reason: `decided by ${decision.resolver.method}` }],
    raw: {
      bytes: new TextEncoder().encode(JSON.stringify({ requirement: requirement.id, ...decision.resolver })),
      form: 'json',
    },
    target,
    disposition: 'answer',
    flags: ['policy_resolution', ...keptFlags.filter(flag => flags.includes(flag))],
    ...(task && { task: { ...task, context: thread_id } }),
    ...(author !== undefined && { authorship: { author, object: id } }),
  }
}

const verbs: Readonly<Record<RequirementKind, Readonly<Record<ResolutionOutcome, string>>>> = {
  consent_required: { granted: 'Agreed', declined: 'Not agreed' },
  payment_required: { granted: 'Paid', declined: 'Not paid' },
  unauthorized: { granted: 'Identified', declined: 'Not identified' },
}
const operatorVerbs: Readonly<Record<ResolutionOutcome, string>> = {
  granted: 'An operator agreed',
  declined: 'An operator did not agree',
}
const reaches: Readonly<Record<RememberScope, string>> = {
  conversation: ', for this conversation',
  always: ', from now on',
}
/** What was decided, as words: history and models read them. */
function sayDecision({ kind, policy }: RequirementRecord, { outcome, remember }: RequirementDecision): string {
  const price = kind === 'payment_required' ? ` (${String(policy.amount)} ${String(policy.currency)})` : ''
  const verb = isForOperator(policy) ? operatorVerbs[outcome] : verbs[kind][outcome]
  const reach = remember ? reaches[remember] : ''
  return `${verb}${price}${reach}: ${describeSubject(policy)}`
}

const longestSubject = 300

function describeSubject({ title, message }: RequirementRecord['policy']): string {
  return (title ?? message).slice(0, longestSubject).toWellFormed()
}

const descriptions: Readonly<Record<RequirementObjection, string>> = {
  unknown: 'is not known',
  used: 'has been used already',
  expired: 'has expired',
  kind: 'is of another kind',
  elsewhere: 'belongs to another conversation',
  receipt_used: 'is paid by a receipt that was used already',
  ended: 'belongs to a task that has ended',
  taken: 'was to be decided by a task that there was already',
}

/** Where a message of A2A says what it decides. */
const place = 'message.metadata.mentionable.policy_resolution'

/** A message that decides nothing is not taken: its sender believes that it does. */
export function refuseResolution(reason: RequirementObjection): Rejection {
  return refuseClaim('in_reply_to_state', descriptions[reason])
}

export function refuseClaim(
  member: 'in_reply_to_state' | 'outcome' | 'receipt' | 'remember',
  description: string,
): Rejection {
  return new Rejection('forbidden', `Cannot take policy_resolution: ${member} ${description}`, {
    violations: [{ field: `${place}.${member}`, description }],
  })
}

/** The same as a sentence for people. */
export function describeObjection(reason: RequirementObjection): string {
  return `This ${descriptions[reason]}.`
}

/** How a requirement was decided that nobody decided: by its time. */
export const timeoutMethod = 'timeout'

/** What is not decided in time is a no, of nobody. */
export function decideByTimeout({ digest, kind }: RequirementRecord): RequirementDecision {
  return { digest, kind, outcome: 'declined', resolver: { method: timeoutMethod } }
}

/** The same as words: history and models read them. */
export function sayOverdue({ policy }: Pick<RequirementRecord, 'policy'>): NormalizedMessage['parts'] {
  return [{ kind: 'text', mime: 'text/plain', content: `Nobody decided in time: ${describeSubject(policy)}` }]
}
