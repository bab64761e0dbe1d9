// Issues the requirements of an agent, and checks the requirements in its answer.
import type {
  NormalizedMessage,
  Part,
  PartialResponse,
  Policy,
  RequirementKind,
  ShowRequirement,
  System,
} from '@postern/message'
import {
  describeFaults,
  isForOperator,
  isoTime,
  isRequirementKind,
  operatorSubject,
  parseInput,
  randomHex,
  readApproval,
  statusWithPolicies,
  subjectOf,
} from '@postern/message'
import type { AgentRequirements, ConsentRequirement } from '../ports/agent/agent-requirements.ts'
import {
  authSchema,
  consentSchema,
  paymentSchema,
  priceSchema,
  refusalSchema,
} from '../ports/agent/agent-requirements.ts'
import type { PlannedRequirement } from '../ports/records/requirement-record.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { RequirementDeps } from '../ports/requirement-claims.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'

/** The maximum number of requirements in one answer. An agent that makes more of them has a bug. */
const maxRequirements = 5
const maxDurationMs = 30 * 86_400_000

interface SettleContext {
  readonly turnContext: Pick<TurnContext, 'requirements' | 'system'>
  /** The requirements that were issued in this turn; absent if none was. */
  readonly issuedIds: RequirementList['issuedIds'] | undefined
}

export interface SettledAnswer {
  readonly partial: PartialResponse | undefined
  readonly requirements: readonly PlannedRequirement[]
}

/**
 * Settles the requirements of an answer. A state that the agent gives counts only if it was issued in this turn; every other requirement gets a
 * new one. Stored parts contain no state, because only the person who decides may see it.
 * @throws Error for a `url` outside the gateway's own origin (MN-7.1), an incomplete price, or too many requirements
 */
export function settleRequirements(
  turn: Turn,
  partial: PartialResponse | undefined,
  settleContext: SettleContext,
): SettledAnswer {
  const requirements: PlannedRequirement[] = []
  if (!partial?.parts?.some(part => part.kind === 'policy')) return { partial, requirements }
  const parts = partial.parts.map((part): Part => {
    if (part.kind !== 'policy') return part
    const result = settlePolicy(part.policy, turn, settleContext)
    if (result.requirement) requirements.push(result.requirement)
    return { kind: 'policy', policy: result.policy }
  })
  if (requirements.length > maxRequirements)
    throw new Error(`an answer may have at most ${maxRequirements} requirements`)
  // Only the sender may see the requirements that only the sender may decide.
  const isPrivate = requirements.some(({ subject }) => subject !== operatorSubject)
  const audience = isPrivate ? { mentions: [], visibility: 'direct' as const } : {}
  return {
    partial: { ...partial, ...audience, parts, status: statusWithPolicies(parts, partial.status) },
    requirements,
  }
}

interface SettledPolicy {
  readonly policy: Policy
  readonly requirement?: PlannedRequirement
}

function settlePolicy(policy: Policy, turn: Turn, { turnContext, issuedIds }: SettleContext): SettledPolicy {
  const { requirements: requirementDeps, system } = turnContext
  const publicPolicy = withoutState(policy)
  if (!requirementDeps) return { policy: publicPolicy }
  const urlMember = readOwnUrl(policy, requirementDeps)
  const { kind } = policy
  if (!isRequirementKind(kind)) return { policy: { ...publicPolicy, ...urlMember } }
  if (kind === 'payment_required') checkPrice(policy)
  const issuedId = issuedIds?.get(policy.state ?? '')
  const id = issuedId ?? randomHex(system, 16)
  const expiresAt = computeExpiry(policy, issuedId !== undefined, system.now()) ?? system.now() + requirementDeps.ttlMs
  const settledPolicy = { ...publicPolicy, ...urlMember, requirement: id, expires_at: isoTime(expiresAt) }
  const requirement = planRequirement(settledPolicy, { kind, id, expiresAt }, turn, requirementDeps)
  return { policy: toSenderPolicy(settledPolicy), requirement: { ...requirement, ...notifyMember(policy) } }
}

const operatorWaitText = 'A person has to allow this first. The answer follows as soon as that is decided.'

/** Returns the policy for the sender. If an operator decides, it only asks the sender to wait; the stored requirement contains the question. */
function toSenderPolicy(policy: Policy): Policy {
  if (!isForOperator(policy)) return policy
  const { kind, approver, requirement, expires_at, sender_message, code, data } = policy
  const message = typeof sender_message === 'string' && sender_message !== '' ? sender_message : operatorWaitText
  const waitingPolicy = { kind, approver, requirement, expires_at, message }
  // The transcript recognizes a waiting call by `code` and `data`. `withoutCall` removes `data` before the answer is shown.
  return readApproval(policy) ? { ...waitingPolicy, code, data } : waitingPolicy
}

function planRequirement(
  policy: Policy,
  { kind, id, expiresAt }: { readonly kind: RequirementKind; readonly id: string; readonly expiresAt: number },
  { content }: Turn,
  { stateOf, digestOf }: RequirementDeps,
): PlannedRequirement {
  const subject = isForOperator(policy) ? operatorSubject : subjectOf(content.sender)
  return { id, digest: digestOf(stateOf(id)), kind, policy, subject, expiresAt }
}

/** Returns the mailbox that gets a notice of a requirement for an operator, in addition to the surfaces that show it. */
function notifyMember(policy: Policy): Pick<PlannedRequirement, 'notify'> {
  return isForOperator(policy) && typeof policy.notify === 'string' ? { notify: policy.notify } : {}
}

/** Returns the end of a requirement in ms; undefined for the default. Agents that do not use a `context` give `expires_in`, in seconds. */
function computeExpiry({ expires_at, expires_in }: Policy, isIssued: boolean, now: number): number | undefined {
  if (isIssued) return Date.parse(String(expires_at))
  if (typeof expires_in !== 'number' || !(expires_in >= 60)) return undefined
  return now + Math.min(maxDurationMs, expires_in * 1000)
}

function withoutState(policy: Policy): Policy {
  const {
    state: _,
    requirement: __,
    url: ___,
    expires_at: ____,
    expires_in: _____,
    notify: ______,
    ...publicPolicy
  } = policy
  return publicPolicy as Policy
}

/** Returns the agent's own `url`. It leaves out the decision page, whose address is added when the requirement is shown. */
function readOwnUrl({ url, state }: Policy, requirementDeps: RequirementDeps): { readonly url?: string } {
  if (url === undefined || url === actionUrl(requirementDeps, state ?? '')) return {}
  if (new URL(url).origin === requirementDeps.origin && !new URL(url).pathname.startsWith('/actions/')) return { url }
  throw new Error(
    `Cannot answer: the url of a policy part must be on ${requirementDeps.origin}, outside of /actions/, not on ${new URL(url).origin}`,
  )
}

function checkPrice(policy: Policy): void {
  const { error } = priceSchema.safeParse(policy)
  if (error) throw new Error(`Cannot require payment: ${describeFaults(error, policy)}`)
}

/** Removes all members of policies with which somebody could decide a requirement, because only answers can require something. */
export function withoutRequirements(parts: readonly Part[]): Part[] {
  return parts.map(part => {
    if (part.kind !== 'policy') return part
    const { state: _, requirement: __, url, ...policy } = part.policy
    const isAction = url === undefined || new URL(url).pathname.startsWith('/actions/')
    return { kind: 'policy', policy: { ...policy, ...(!isAction && { url }) } as Policy }
  })
}

/** Returns a piece of an answer without its policies, for readers who get it before it is durable. A requirement is shown only after it is stored. */
export function withoutPolicies(chunk: PartialResponse): PartialResponse {
  if (!chunk.parts?.some(part => part.kind === 'policy')) return chunk
  return { ...chunk, parts: chunk.parts.filter(part => part.kind !== 'policy') }
}

/** Returns the decision for the agent, with the state that the agent was given. The state is computed, because only its digest is stored. */
export function withState(
  { policy_resolution: resolution }: NormalizedMessage,
  requirementDeps: RequirementDeps | undefined,
): Pick<NormalizedMessage, 'policy_resolution'> {
  if (!requirementDeps || resolution?.requirement === undefined) return {}
  const state = requirementDeps.stateOf(resolution.requirement, resolution.in_reply_to_state)
  return { policy_resolution: { ...resolution, in_reply_to_state: state } }
}

/** The requirements that an agent makes in one turn, before any of them is stored. */
export interface RequirementList extends AgentRequirements {
  /** The ids of the requirements by their states. */
  readonly issuedIds: ReadonlyMap<string, string>
}

/** Creates the list of a turn. Without `requirementDeps` nobody can decide anything, so every requirement throws. */
export function createRequirementList(
  gateway: RequirementDeps | undefined,
  system: Pick<System, 'randomBytes' | 'now'>,
): RequirementList {
  const issuedIds = new Map<string, string>()
  function issue(kind: RequirementKind, { expires_in, ...members }: ConsentRequirement) {
    if (!gateway) throw new Error('Cannot require: nothing can be decided here')
    const id = randomHex(system, 16)
    const state = gateway.stateOf(id)
    issuedIds.set(state, id)
    const lifetimeMs = expires_in === undefined ? gateway.ttlMs : expires_in * 1000
    const expires_at = isoTime(system.now() + lifetimeMs)
    return toResponse({ kind, url: actionUrl(gateway, state), ...members, state, requirement: id, expires_at })
  }
  return {
    issuedIds,
    requireConsent: requirement => issue('consent_required', parseInput(consentSchema, requirement, 'the requirement')),
    requirePayment: requirement => issue('payment_required', parseInput(paymentSchema, requirement, 'the requirement')),
    requireAuth: requirement => issue('unauthorized', parseInput(authSchema, requirement, 'the requirement')),
    refuse: refusal => toResponse(parseInput(refusalSchema, refusal, 'the refusal')),
  }
}

/** Returns the address of the page on which a person decides. */
export function actionUrl({ origin }: Pick<RequirementDeps, 'origin'>, state: string): string {
  return `${origin}/actions/${state}`
}

/** Removes the call that waits for an operator, because the sender may learn only that they have to wait. */
function withoutCall({ data: _, ...policy }: Policy): Policy {
  return policy
}

function toResponse(policy: Policy): PartialResponse {
  const parts: PartialResponse['parts'] = [{ kind: 'policy', policy }]
  return { parts, status: statusWithPolicies(parts, undefined) }
}

export function createShowRequirement(requirementDeps: Pick<RequirementDeps, 'origin' | 'stateOf'>): ShowRequirement {
  return policy => {
    if (typeof policy.requirement !== 'string') return policy
    if (isForOperator(policy)) return withoutCall(policy)
    const state = requirementDeps.stateOf(policy.requirement)
    return { ...policy, state, url: policy.url ?? actionUrl(requirementDeps, state) }
  }
}
