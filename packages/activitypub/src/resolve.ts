import type { IntakeSteps, Proof } from '@postern/core'
import type { ActivityKind, Findings, InboxDeps, Lookups, ResolvedActivity } from './inbox/activity-kind.ts'
import { activityKinds } from './inbox/activity-kinds.ts'
import type { NamedActivity } from './inbox/named-activity.ts'
import type { IsBlocked } from './peers/blocklist.ts'
import { isAboutBlocked } from './peers/blocklist.ts'
import type { Handles } from './peers/webfinger.ts'
import type { ProvenActivity, VerifiedDelivery } from './proofs/proven-activity.ts'

/** The effect of a delivery: nothing, to forget an actor that is gone, or what its kind of activity does. */
export type ResolvedDelivery =
  | 'nothing'
  | { readonly gone: string }
  | { readonly kind: ActivityKind; readonly resolved: ResolvedActivity }

interface ResolveDeps extends Lookups {
  readonly gateway: InboxDeps
  readonly handles: Pick<Handles, 'confirm'>
  readonly isBlocked: IsBlocked
}

const bringsPosts: ReadonlySet<string> = new Set(['Create', 'Update', 'Announce'])

/**
 * Looks up what a proven activity refers to. Its sender's name is looked up only if it concerns an agent here.
 * @throws Rejection `forbidden`
 */
export async function resolveDelivery(
  verified: VerifiedDelivery,
  parts: ResolveDeps,
  steps: IntakeSteps,
): Promise<ResolvedDelivery> {
  if (verified === 'nothing' || !verified.activity) return verified
  const { type, json } = verified.activity
  if (bringsPosts.has(type) && isAboutBlocked(json, parts.isBlocked)) return 'nothing'
  const kind = activityKinds.get(type)
  const lookedAt = steps.now()
  const found = await kind?.find(verified, parts)
  if (!kind || !found) return 'nothing'
  steps.note({ kind: 'resolve', verdict: 'pass' }, lookedAt)
  const namedAt = steps.now()
  const named = concernsAgents(found) ? await nameActor(verified, parts) : { ...verified, address: undefined }
  const handle = named.proofs.find(({ kind: proof }) => proof === 'webfinger')
  if (handle) steps.note(handle, namedAt)
  return { kind, resolved: { named, agents: [], known: [], gateway: parts.gateway, ...found } }
}

function concernsAgents({ agents = [], known = [], post }: Findings): boolean {
  return agents.length > 0 || known.length > 0 || post !== undefined
}

async function nameActor(proven: ProvenActivity, { handles }: ResolveDeps): Promise<NamedActivity> {
  const address = await handles.confirm(proven.actor)
  return { ...proven, address, proofs: [...proven.proofs, proveHandle(address)] }
}

function proveHandle(address: string | undefined): Proof {
  if (address) return { kind: 'webfinger', verdict: 'pass', address }
  return { kind: 'webfinger', verdict: 'none', reason: 'the name is not confirmed by its host' }
}
