import type { Interrupt } from '@ag-ui/core'
import type { ApprovalAction, ChannelContext, NormalizedResponse, Policy } from '@postern/core'
import { isForOperator, plainTextOf, readApproval } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { textOfContent } from '@postern/transcript'
import { listOpenPolicies } from './open-requirements.ts'

/** Why a run cannot go on: one interrupt for each requirement, or the question itself. */
export function listInterrupts({ id, parts, status }: NormalizedResponse): readonly Interrupt[] {
  if (status !== 'input_required' && status !== 'auth_required') return []
  const requirements = parts.flatMap(part => (part.kind === 'policy' && part.policy.requirement ? [part.policy] : []))
  return requirements.length === 0 ? [askAgain(id, plainTextOf(parts))] : requirements.map(describeInterrupt)
}

/**
 * What a conversation still waits for: the person's open requirements, and a question that nobody has answered. While there is one, no run
 * succeeds.
 */
export async function listOpenInterrupts(
  entries: readonly TranscriptEntry[],
  { owner, isAnswered }: { readonly owner: string; readonly isAnswered: boolean },
  gateway: Pick<ChannelContext, 'store' | 'showRequirement'>,
): Promise<readonly Interrupt[]> {
  const last = entries.findLast(({ chat_seq }) => chat_seq !== undefined)
  const wait = last?.kind === 'input_required' && !isAnswered ? last.wait : undefined
  const question = last && wait?.reason === 'input' ? [askAgain(wait.id, textOfContent(last.content))] : []
  return [...(await listOpenPolicies(entries, owner, gateway)).map(describeInterrupt), ...question]
}

function askAgain(id: string, message: string): Interrupt {
  return { id, reason: 'input_required', ...(message !== '' && { message }) }
}

/** The person cannot resolve what an operator decides; the interrupt only says that they wait. */
function describeInterrupt(policy: Policy): Interrupt {
  if (!isForOperator(policy)) return writeInterrupt(policy)
  const { kind, requirement, message, expires_at, title } = policy
  return {
    id: String(requirement),
    reason: 'postern:operator',
    message,
    ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
    metadata: { kind, approver: 'operator', ...(title && { title }) },
  }
}

function writeInterrupt({ kind, requirement, message, expires_at, url, title, code, data }: Policy): Interrupt {
  return {
    id: String(requirement),
    ...nameReason(kind, readApproval({ code, data })),
    message,
    ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
    ...(kind === 'consent_required' && { responseSchema: describeAnswer(readApproval({ code, data })) }),
    metadata: { kind, ...(url && { url }), ...(title && { title }) },
  }
}

/** An approval of a call names the call. */
function nameReason(kind: string, approval: ApprovalAction | undefined): Pick<Interrupt, 'reason' | 'toolCallId'> {
  if (approval) return { reason: 'tool_call', toolCallId: approval.tool_call_id }
  return { reason: kind === 'consent_required' ? 'confirmation' : `postern:${kind}` }
}

function describeAnswer(approval: ApprovalAction | undefined): NonNullable<Interrupt['responseSchema']> {
  return {
    type: 'object',
    properties: { approved: { type: 'boolean' }, ...describeReach(approval) },
    required: ['approved'],
  }
}

/** How long a decision may count, if the requirement offers a choice. */
export function describeReach(approval: ApprovalAction | undefined): { readonly remember?: object } {
  const { remember } = approval ?? {}
  return remember ? { remember: { type: 'string', enum: ['once', ...remember.scopes] } } : {}
}
