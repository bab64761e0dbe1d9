// Describes the requirements and questions that a run waits for as AG-UI interrupts.
import type { Interrupt } from '@ag-ui/core'
import type { ApprovalAction, NormalizedResponse, Part, Policy } from '@postern/message'
import { isForOperator, operatorSubject, policiesOf, readApproval, subjectOf } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import type { EntryContent, TranscriptEntry } from '@postern/transcript'
import { partsOfContent, textOfContent } from '@postern/transcript'
import type { WebDeps } from '../endpoint.ts'
import { readChatText } from '../render.ts'
import { senderOfKey } from '../verify.ts'
import { isQuestionClosed } from './closed-questions.ts'

export function isRequirementId(id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

/** Lists the interrupts that stop a run: one for each requirement, or the question itself. */
export function listInterrupts({ id, parts }: NormalizedResponse): readonly Interrupt[] {
  const policies = listRequirementPolicies(parts)
  return policies.length === 0 ? [writeQuestionInterrupt(id, readChatText(parts))] : policies.map(describeInterrupt)
}

/**
 * Lists the interrupts that a conversation still waits for: the person's open requirements, and an unanswered question. No run succeeds while an
 * interrupt is open.
 */
export async function listOpenInterrupts(
  entries: readonly TranscriptEntry[],
  { owner, isAnswered }: { readonly owner: string; readonly isAnswered: boolean },
  { gateway, records }: Pick<WebDeps, 'gateway' | 'records'>,
): Promise<readonly Interrupt[]> {
  const lastMessage = entries.findLast(({ chat_seq }) => chat_seq !== undefined)
  const wait = lastMessage?.kind === 'input_required' && !isAnswered ? lastMessage.wait : undefined
  const isWaiting = wait?.reason === 'input' && !(await isQuestionClosed(records, owner, wait.id))
  const question =
    lastMessage && wait && isWaiting ? [writeQuestionInterrupt(wait.id, readQuestion(lastMessage.content))] : []
  return [...(await listOpenPolicies(entries, owner, gateway)).map(describeInterrupt), ...question]
}

function readQuestion(content: EntryContent): string {
  return 'parts' in content ? readChatText(content.parts) : textOfContent(content)
}

function writeQuestionInterrupt(id: string, message: string): Interrupt {
  return { id, reason: 'input_required', ...(message !== '' && { message }) }
}

/** Describes a requirement as an interrupt. If an operator decides, the person cannot resolve the interrupt, which only shows that they wait. */
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
    ...reasonOf(kind, readApproval({ code, data })),
    message,
    ...(typeof expires_at === 'string' && { expiresAt: expires_at }),
    ...(kind === 'consent_required' && { responseSchema: describeDecisionSchema(readApproval({ code, data })) }),
    metadata: { kind, ...(url && { url }), ...(title && { title }) },
  }
}

/** Returns the reason of an interrupt. The approval of a call also has the id of the call. */
function reasonOf(kind: string, approval: ApprovalAction | undefined): Pick<Interrupt, 'reason' | 'toolCallId'> {
  if (approval) return { reason: 'tool_call', toolCallId: approval.tool_call_id }
  return { reason: kind === 'consent_required' ? 'confirmation' : `postern:${kind}` }
}

/** Returns the schema of a decision. The members of `addedProperties` are optional. */
export function describeDecisionSchema(
  approval: ApprovalAction | undefined,
  addedProperties: Readonly<Record<string, unknown>> = {},
): NonNullable<Interrupt['responseSchema']> {
  return {
    type: 'object',
    properties: { approved: { type: 'boolean' }, ...describeRememberScopes(approval), ...addedProperties },
    required: ['approved'],
  }
}

/** Describes the scopes for which a decision may count, if the requirement offers a choice. */
function describeRememberScopes(approval: ApprovalAction | undefined): { readonly remember?: object } {
  const { remember } = approval ?? {}
  return remember ? { remember: { type: 'string', enum: ['once', ...remember.scopes] } } : {}
}

/** A requirement that an agent still waits for, with the address at which its person decides. */
export interface OpenRequirementView {
  readonly id: string
  readonly kind: Policy['kind']
  readonly url: string
  readonly expires_at?: string | undefined
}

/** Lists the requirements of this owner that can still be decided and have an address. */
export async function showOpenRequirements(
  entry: Pick<TranscriptEntry, 'content'>,
  owner: string,
  gateway: Pick<ChannelContext, 'agents' | 'store' | 'showRequirement'>,
): Promise<readonly OpenRequirementView[]> {
  const openPolicies = await listOpenPolicies([entry], owner, gateway)
  return openPolicies.flatMap(({ requirement, kind, url, expires_at }) => {
    if (typeof url !== 'string') return []
    const expiry = typeof expires_at === 'string' ? { expires_at } : {}
    return [{ id: String(requirement), kind, url, ...expiry }]
  })
}

function listRequirementPolicies(parts: readonly Part[]): readonly Policy[] {
  return policiesOf(parts).filter(({ requirement }) => requirement)
}

/** Lists the open requirements of an owner, oldest first. A requirement that an operator decides has no address here. */
async function listOpenPolicies(
  entries: readonly Pick<TranscriptEntry, 'content'>[],
  owner: string,
  { agents, store, showRequirement }: Pick<ChannelContext, 'agents' | 'store' | 'showRequirement'>,
): Promise<readonly Policy[]> {
  const policies = listRequirementPolicies(entries.flatMap(({ content }) => partsOfContent(content)))
  if (policies.length === 0 || !showRequirement) return []
  const subjects = [subjectOf(senderOfKey(owner, agents.origin)), operatorSubject]
  const requirements = await Promise.all(
    policies.map(({ requirement }) => store.findRequirement({ id: String(requirement) })),
  )
  const openPolicies = policies.filter((_, index) => {
    const requirement = requirements[index]
    return requirement?.status === 'open' && subjects.includes(requirement.subject)
  })
  return openPolicies.map(showRequirement)
}
