import { isForOperator, operatorSubject } from './approver.ts'
import type { DemandHouse, PlannedDemand } from './demand.ts'
import { subjectOf } from './demand.ts'
import type { DemandList } from './demand-list.ts'
import { actionUrl, priceSchema } from './demand-list.ts'
import type { NormalizedMessage } from './message.ts'
import type { Part, Policy } from './part.ts'
import type { DemandKind } from './policy-kinds.ts'
import { isDemandKind, statusWithPolicies } from './policy-kinds.ts'
import type { PartialResponse } from './response.ts'
import type { Turn } from './work.ts'
import type { Working } from './working.ts'
import { isoTime, randomHex } from './world.ts'

/** More in one answer is a mistake. */
const maxDemands = 5
const longestMs = 30 * 86_400_000

export interface Settling {
  readonly working: Pick<Working, 'demands' | 'world'>
  readonly issued: DemandList['issued']
}

export interface SettledAnswer {
  readonly partial: PartialResponse | undefined
  readonly demands: readonly PlannedDemand[]
}

/**
 * What an answer demands, by the gateway's own word: a state that an agent names counts only when it was issued in this turn; every other demand gets
 * one now. No part keeps its state: it is shown only to whom it is for.
 * @throws Error when an address leads away from the agent's own origin (MN-7.1)
 */
export function settleDemands(turn: Turn, partial: PartialResponse | undefined, settling: Settling): SettledAnswer {
  const demands: PlannedDemand[] = []
  if (!partial?.parts?.some(part => part.kind === 'policy')) return { partial, demands }
  const parts = partial.parts.map((part): Part => {
    if (part.kind !== 'policy') return part
    const settled = settlePolicy(part.policy, turn, settling)
    if (settled.demand) demands.push(settled.demand)
    return { kind: 'policy', policy: settled.policy }
  })
  if (demands.length > maxDemands) throw new Error(`an answer may have at most ${maxDemands} demands`)
  // Nobody but the sender is to see what only he may decide.
  const isPrivate = demands.some(({ subject }) => subject !== operatorSubject)
  const audience = isPrivate ? { mentions: [], visibility: 'direct' as const } : {}
  return { partial: { ...partial, ...audience, parts, status: statusWithPolicies(parts, partial.status) }, demands }
}

interface SettledPolicy {
  readonly policy: Policy
  readonly demand?: PlannedDemand
}

function settlePolicy(policy: Policy, turn: Turn, { working, issued }: Settling): SettledPolicy {
  const { demands: house, world } = working
  const bare = withoutState(policy)
  if (!house) return { policy: bare }
  const own = ownUrl(policy, house)
  const { kind } = policy
  if (!isDemandKind(kind)) return { policy: { ...bare, ...own } }
  if (kind === 'payment_required') checkPrice(policy)
  const known = issued.get(policy.state ?? '')
  const id = known ?? randomHex(world, 16)
  const expiresAt = expiryOf(policy, known !== undefined, world.now()) ?? world.now() + house.ttlMs
  const settled = { ...bare, ...own, demand: id, expires_at: isoTime(expiresAt) }
  const demand = planDemand(settled, { kind, id, expiresAt }, turn, house)
  return { policy: settled, demand: { ...demand, ...whomToTell(policy) } }
}

function planDemand(
  policy: Policy,
  { kind, id, expiresAt }: { readonly kind: DemandKind; readonly id: string; readonly expiresAt: number },
  { content }: Turn,
  { stateOf, digestOf }: DemandHouse,
): PlannedDemand {
  const subject = isForOperator(policy) ? operatorSubject : subjectOf(content.sender)
  return { id, digest: digestOf(stateOf(id)), kind, policy, subject, expiresAt }
}

/** By mail, beside what he is shown anyway. */
function whomToTell(policy: Policy): Pick<PlannedDemand, 'notify'> {
  return isForOperator(policy) && typeof policy.notify === 'string' ? { notify: policy.notify } : {}
}

/** Agents without a `context` say `expires_in`, seconds. */
function expiryOf({ expires_at, expires_in }: Policy, isIssued: boolean, now: number): number | undefined {
  if (isIssued) return Date.parse(String(expires_at))
  if (typeof expires_in !== 'number' || !(expires_in >= 60)) return undefined
  return now + Math.min(longestMs, expires_in * 1000)
}

function withoutState(policy: Policy): Policy {
  const { state: _, demand: __, url: ___, expires_at: ____, expires_in: _____, notify: ______, ...rest } = policy
  return rest as Policy
}

/** The page where it is decided is made known when it is shown. */
function ownUrl({ url, state }: Policy, house: DemandHouse): { readonly url?: string } {
  if (url === undefined || url === actionUrl(house, state ?? '')) return {}
  if (new URL(url).origin === house.origin && !new URL(url).pathname.startsWith('/actions/')) return { url }
  throw new Error(
    `Cannot answer: the url of a policy part must be on ${house.origin}, outside of /actions/, not on ${new URL(url).origin}`,
  )
}

function checkPrice(policy: Policy): void {
  const [problem] = priceSchema.safeParse(policy).error?.issues ?? []
  if (problem) throw new Error(`Cannot demand payment: ${problem.path.join('.')} ${problem.message}`)
}

/** Parts that are not an answer's demand nothing: what decides a demand, or looks like it, is taken out of them. */
export function withoutDemands(parts: readonly Part[]): Part[] {
  return parts.map(part => {
    if (part.kind !== 'policy') return part
    const { state: _, demand: __, url, ...policy } = part.policy
    const isAction = url === undefined || new URL(url).pathname.startsWith('/actions/')
    return { kind: 'policy', policy: { ...policy, ...(!isAction && { url }) } as Policy }
  })
}

/** A piece as it may be told before it is durable: what is demanded waits until it is. */
export function withoutPolicies(chunk: PartialResponse): PartialResponse {
  if (!chunk.parts?.some(part => part.kind === 'policy')) return chunk
  return { ...chunk, parts: chunk.parts.filter(part => part.kind !== 'policy') }
}

/** A decision as the agent is given it: with the state that it named, which is nowhere stored. */
export function withState(
  { policy_resolution: resolution }: NormalizedMessage,
  house: DemandHouse | undefined,
): Pick<NormalizedMessage, 'policy_resolution'> {
  if (!house || resolution?.demand === undefined) return {}
  return { policy_resolution: { ...resolution, in_reply_to_state: house.stateOf(resolution.demand) } }
}
