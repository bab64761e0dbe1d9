import type { IntakeSteps, Json, Proof, Store } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { Findings, InboxDeps, Lookups, ResolvedDelivery } from './inbox/activity-kind.ts'
import { activityKinds } from './inbox/kinds/activity-kinds.ts'
import type { IsBlocked } from './peers/actors.ts'
import { isAboutBlocked } from './peers/actors.ts'
import type { Handles } from './peers/host-lookups.ts'
import type { Facts, NamedActivity, ProvenActivity, VerifiedDelivery } from './proofs/proven-activity.ts'

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

/** Notes what the store says: follows and earlier activities may be gone when the activity is read again. `known`: asks it instead. */
export function createFacts(store: Pick<Store, keyof Lookups['store']>, known?: Facts) {
  const found: Record<string, Json> = {}
  async function ask<Answer>(question: readonly unknown[], look: () => Promise<Answer>, none: Answer): Promise<Answer> {
    const name = JSON.stringify(question)
    if (known) return (known[name] as Answer | undefined) ?? none
    const answer = await look()
    if (answer !== undefined && !(Array.isArray(answer) && answer.length === 0)) found[name] = answer as Json
    return answer
  }
  const noting: Lookups['store'] = {
    findResponse: id => store.findResponse(id),
    findAuthored: (via, { author, object }) =>
      ask(['authored', author, object], () => store.findAuthored(via, { author, object }), []),
    findRelation: key => ask(['relation', key.agent, key.relation, key.peer], () => store.findRelation(key), undefined),
  }
  /** `found`: what was asked for, and is there. */
  return { store: noting, found: (): Facts => found }
}

/** Kept with the activity. */
export function withFacts(resolved: ResolvedDelivery, facts: Facts): ResolvedDelivery {
  if (resolved === 'nothing' || 'gone' in resolved || Object.keys(facts).length === 0) return resolved
  const { kind, resolved: read } = resolved
  const { arrival } = read.named
  const kept = isJsonObject(arrival) ? { ...arrival, facts } : arrival
  return { kind, resolved: { ...read, named: { ...read.named, arrival: kept as Json } } }
}

export function readFacts(arrival: Json): Facts {
  return isJsonObject(arrival) && isJsonObject(arrival.facts) ? (arrival.facts as Facts) : {}
}
