// Makes the message that tells an agent of a decision.
import type {
  NormalizedMessage,
  PolicyResolution,
  RememberScope,
  RequirementKind,
  ResolutionOutcome,
} from '@postern/message'
import { agentFlag, isForOperator, Rejection, readApproval, replayFlag, threadSourceOf } from '@postern/message'
import type { Intake } from '../ports/records/intake.ts'
import type {
  RequirementDecision,
  RequirementObjection,
  RequirementRecord,
} from '../ports/records/requirement-record.ts'
import type { Turn } from '../ports/records/work/turn.ts'

/** The message that caused a requirement, as far as its decision goes the same way. */
interface RequirementOrigin extends Pick<Turn, 'content' | 'target' | 'flags' | 'task'> {
  /** The scope of its thread. */
  readonly scope: string
  /** Principal whose words it was. */
  readonly author?: string | undefined
}

/** The kind of writer counts for a decision, too: an agent’s words are no person’s. */
const keptFlags: readonly string[] = [agentFlag, replayFlag, 'by_list', 'by_form']

/** Describes a decision for the agent. Pure. `at`: ISO 8601 UTC. */
export function describeResolution(
  { id, policy }: Pick<RequirementRecord, 'id' | 'policy'>,
  { digest, kind, outcome, resolver, isCancelled, receipt, args, remember }: RequirementDecision,
  at: string,
): PolicyResolution {
  return {
    in_reply_to_state: digest,
    requirement: id,
    kind,
    outcome,
    resolved_at: at,
    resolver,
    ...(isCancelled && { cancelled: true as const }),
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
  const { sender, recipient, recipient_capabilities, received_via } = content
  const thread_source = threadSourceOf(content)
  const id = resolutionIdOf(requirement.id)
  return {
    agent: requirement.agent,
    message: {
      id,
      thread_source,
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
    ...(task && { task: { ...task, context: thread_source } }),
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
/** Writes a decision as words, which the history keeps and models read. */
function sayDecision({ kind, policy }: RequirementRecord, { outcome, remember }: RequirementDecision): string {
  const price = kind === 'payment_required' ? ` (${String(policy.amount)} ${String(policy.currency)})` : ''
  const verb = isForOperator(policy) ? operatorVerbs[outcome] : verbs[kind][outcome]
  const reach = remember ? reaches[remember] : ''
  const said = `${verb}${price}${reach}`
  // The sender reads it, too, but an agent's question to an operator is not for them; the gateway's own question names a tool alone.
  return isForOperator(policy) && !readApproval(policy) ? `${said}.` : `${said}: ${describeSubject(policy)}`
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

/** The path of a decision in a message of A2A. */
const path = 'message.metadata.mentionable.policy_resolution'

/** A message that decides nothing is not taken: its sender believes that it does. */
export function refuseResolution(reason: RequirementObjection): Rejection {
  return refuseClaim('in_reply_to_state', descriptions[reason])
}

export function refuseClaim(
  member: 'in_reply_to_state' | 'outcome' | 'receipt' | 'remember',
  description: string,
): Rejection {
  return new Rejection('forbidden', `Cannot take policy_resolution: ${member} ${description}`, {
    violations: [{ field: `${path}.${member}`, description }],
  })
}

/** The same as a sentence for people. */
export function describeObjection(reason: RequirementObjection): string {
  return `This ${descriptions[reason]}.`
}

/** The method of a decision that nobody made in time. */
export const timeoutMethod = 'timeout'

/** Declines a requirement that nobody has decided in time. */
export function decideByTimeout({ digest, kind }: RequirementRecord): RequirementDecision {
  return { digest, kind, outcome: 'declined', resolver: { method: timeoutMethod }, isCancelled: true }
}

/** The same as words: history and models read them. */
export function sayOverdue({ policy }: Pick<RequirementRecord, 'policy'>): NormalizedMessage['parts'] {
  return [{ kind: 'text', mime: 'text/plain', content: `Nobody decided in time: ${describeSubject(policy)}` }]
}
