// Decides a requirement in a test, as the operator or as the person who is asked.
import type { Json, ResolutionOutcome } from '@postern/message'
import { isForOperator } from '@postern/message'
import type { RequirementRecord } from '@postern/pipeline'
import { describeObjection } from '@postern/pipeline'
import type { Gateway } from '../gateway.ts'

/** A requirement: its id, or the number of the message whose answer asks for it. */
type RequirementReference = string | { readonly number?: number | undefined }

export type DecidingGateway = Pick<Gateway, 'store' | 'requirements'>

interface RequestedDecision {
  readonly outcome: ResolutionOutcome
  /** Arguments that replace those of the tool call; absent to keep them. */
  readonly args?: Json | undefined
}

/**
 * Decides a requirement: an operator's approval, a payment and a proof as the operator, a consent as the person who is asked.
 * @returns the number of the decision’s message. @throws Error if there is no such requirement, or it cannot be decided
 */
export async function decideByReference(
  reference: RequirementReference,
  { outcome, args }: RequestedDecision,
  gateway: DecidingGateway,
): Promise<number> {
  const { requirements } = gateway
  const requirement = await findRequirement(reference, gateway)
  const isDecidedBySender = !isForOperator(requirement.policy) && requirement.kind === 'consent_required'
  const approval = await requirements.approvals.find(requirement.id)
  if (args !== undefined && !approval) throw new Error('Cannot decide: there are no arguments to change')
  const resolution = approval
    ? await requirements.approvals.decide(approval, { method: 'operator', isGranted: outcome === 'granted', args })
    : await requirements.decide(requirement, { method: isDecidedBySender ? 'link' : 'operator', outcome })
  if (resolution.outcome === 'refused') throw new Error(`Cannot decide: ${describeObjection(resolution.reason)}`)
  return resolution.message
}

/** The number of open requirements to search for a message. */
const maxSearchedRequirements = 500

async function findRequirement(
  reference: RequirementReference,
  { store }: DecidingGateway,
): Promise<RequirementRecord> {
  if (typeof reference === 'string') {
    const requirement = await store.forOperators.findRequirement({ id: reference })
    if (requirement) return requirement
    throw new Error(`There is no requirement "${reference}"`)
  }
  const openRequirements = await store.forOperators.listRequirements({ status: 'open', limit: maxSearchedRequirements })
  const requirement = openRequirements.find(({ message }) => message === reference.number)
  if (requirement) return requirement
  throw new Error(`Message ${reference.number} waits for no decision`)
}
