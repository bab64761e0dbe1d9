import type { Interrupt } from '@ag-ui/core'
import type { ApprovalAction, ChannelContext, NormalizedResponse, Policy } from '@postern/core'
import { isForOperator, operatorSubject, plainTextOf, readApproval, subjectOf } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { textOfContent } from '@postern/transcript'
import { senderOfKey } from '../verify.ts'

/** Why a run cannot go on: one interrupt for each requirement, or the question itself. */
export function listInterrupts({ id, parts }: NormalizedResponse): readonly Interrupt[] {
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

/** What an agent still waits for, with the address where its person decides. */
export interface OpenRequirementView {
  readonly id: string
  readonly kind: Policy['kind']
  readonly url: string
  readonly expires_at?: string | undefined
}

/** The requirements of this owner alone, while they can still be decided. */
export async function showOpenRequirements(
  entry: Pick<TranscriptEntry, 'content'>,
  owner: string,
  gateway: Pick<ChannelContext, 'store' | 'showRequirement'>,
): Promise<readonly OpenRequirementView[]> {
  const open = await listOpenPolicies([entry], owner, gateway)
  return open.flatMap(({ requirement, kind, url, expires_at }) => {
    if (typeof url !== 'string') return []
    const until = typeof expires_at === 'string' ? { expires_at } : {}
    return [{ id: String(requirement), kind, url, ...until }]
  })
}

/** As the owner sees them, oldest first. They also wait for decisions of an operator, which have no address here. */
async function listOpenPolicies(
  entries: readonly Pick<TranscriptEntry, 'content'>[],
  owner: string,
  { store, showRequirement }: Pick<ChannelContext, 'store' | 'showRequirement'>,
): Promise<readonly Policy[]> {
  const parts = entries.flatMap(({ content }) => ('parts' in content ? content.parts : []))
  const policies = parts.flatMap(part => (part.kind === 'policy' && part.policy.requirement ? [part.policy] : []))
  if (policies.length === 0 || !showRequirement) return []
  const subjects = [subjectOf(senderOfKey(owner)), operatorSubject]
  const found = await Promise.all(policies.map(({ requirement }) => store.findRequirement({ id: String(requirement) })))
  const open = policies.filter((_, index) => {
    const requirement = found[index]
    return requirement?.status === 'open' && subjects.includes(requirement.subject)
  })
  return open.map(showRequirement)
}
