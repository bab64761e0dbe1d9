// Creates the message that informs an agent of a decision.
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

/** The properties that the message of a decision takes over from the message that caused the requirement. */
interface RequirementOrigin extends Pick<Turn, 'content' | 'target' | 'flags' | 'task'> {
  /** The scope of its thread. */
  readonly scope: string
  /** The principal who wrote it. */
  readonly author?: string | undefined
}

/** The flags about the kind of writer, which a decision inherits: an agent's words are not a person's. */
const inheritedFlags: readonly string[] = [agentFlag, replayFlag, 'by_list', 'by_form']

/** Describes a decision for the agent. `resolvedAt` is ISO 8601 UTC. */
export function describeResolution(
  { id, policy }: Pick<RequirementRecord, 'id' | 'policy'>,
  { digest, kind, outcome, resolver, isCancelled, receipt, args, remember }: RequirementDecision,
  resolvedAt: string,
): PolicyResolution {
  return {
    in_reply_to_state: digest,
    requirement: id,
    kind,
    outcome,
    resolved_at: resolvedAt,
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

/** Returns the id of the message in which the decision on a requirement reaches the agent. */
export function resolutionIdOf(requirement: string): string {
  return `urn:postern:resolution:${requirement}`
}

/** Creates the message of a decision. Its sender is the person who was asked, and its thread and channel are those of the question. */
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
      parts: [{ kind: 'text', mime: 'text/plain', content: describeDecision(requirement, decision) }],
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
    flags: ['policy_resolution', ...inheritedFlags.filter(flag => flags.includes(flag))],
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
const scopeTexts: Readonly<Record<RememberScope, string>> = {
  conversation: ', for this conversation',
  always: ', from now on',
}
/** Returns the text of a decision, which stays in the history for models to read. */
function describeDecision({ kind, policy }: RequirementRecord, { outcome, remember }: RequirementDecision): string {
  const price = kind === 'payment_required' ? ` (${String(policy.amount)} ${String(policy.currency)})` : ''
  const verb = isForOperator(policy) ? operatorVerbs[outcome] : verbs[kind][outcome]
  const scopeText = remember ? scopeTexts[remember] : ''
  const text = `${verb}${price}${scopeText}`
  // The sender can read this text as well. An agent's question to an operator is not for them. The gateway's own question names only a tool.
  return isForOperator(policy) && !readApproval(policy) ? `${text}.` : `${text}: ${describeSubject(policy)}`
}

const maxSubjectChars = 300

function describeSubject({ title, message }: RequirementRecord['policy']): string {
  return (title ?? message).slice(0, maxSubjectChars).toWellFormed()
}

const objectionTexts: Readonly<Record<RequirementObjection, string>> = {
  unknown: 'is not known',
  used: 'has been used already',
  expired: 'has expired',
  kind: 'is of another kind',
  elsewhere: 'belongs to another conversation',
  receipt_used: 'is paid by a receipt that was used already',
  ended: 'belongs to a task that has ended',
  taken: 'was to be decided by a task that there was already',
}

/** The path of a decision in an A2A message. */
const resolutionPath = 'message.metadata.mentionable.policy_resolution'

/** Returns the refusal of a message whose decision does not count. Its sender would otherwise believe that it does. */
export function refuseResolution(reason: RequirementObjection): Rejection {
  return refuseClaim('in_reply_to_state', objectionTexts[reason])
}

export function refuseClaim(
  member: 'in_reply_to_state' | 'outcome' | 'receipt' | 'remember',
  description: string,
): Rejection {
  return new Rejection('forbidden', `Cannot take policy_resolution: ${member} ${description}`, {
    violations: [{ field: `${resolutionPath}.${member}`, description }],
  })
}

/** Returns the objection to a decision as a sentence for people. */
export function describeObjection(reason: RequirementObjection): string {
  return `This ${objectionTexts[reason]}.`
}

/** The `method` of a decision that the gateway makes because nobody decided in time. */
export const timeoutMethod = 'timeout'

/** Declines a requirement that nobody has decided in time. */
export function decideByTimeout({ digest, kind }: RequirementRecord): RequirementDecision {
  return { digest, kind, outcome: 'declined', resolver: { method: timeoutMethod }, isCancelled: true }
}

/** Returns the text of a decision by timeout, which stays in the history for models to read. */
export function describeTimeout({ policy }: Pick<RequirementRecord, 'policy'>): NormalizedMessage['parts'] {
  return [{ kind: 'text', mime: 'text/plain', content: `Nobody decided in time: ${describeSubject(policy)}` }]
}
