import type { Json, Store } from '@postern/core'
import { isJsonObject } from '@postern/core'
import type { Lookups } from './inbox/activity-kind.ts'
import type { ResolvedDelivery } from './resolve.ts'

/** What our own store knew of an activity when it came, by question. What it did not know is not in it. */
export type Facts = Readonly<Record<string, Json>>

interface FactReader {
  readonly store: Lookups['store']
  /** What was asked for, and found. */
  found(): Facts
}

/** Notes what the store says: follows and earlier activities may be gone when the activity is read again. `known`: asks it instead. */
export function createFacts(store: Pick<Store, keyof Lookups['store']>, known?: Facts): FactReader {
  const found: Record<string, Json> = {}
  async function ask<Answer>(question: readonly unknown[], look: () => Promise<Answer>, none: Answer): Promise<Answer> {
    const name = JSON.stringify(question)
    if (known) return (known[name] as Answer | undefined) ?? none
    const answer = await look()
    if (answer !== undefined && !(Array.isArray(answer) && answer.length === 0)) found[name] = answer as Json
    return answer
  }
  return {
    store: {
      findResponse: id => store.findResponse(id),
      findAuthored: (via, { author, object }) =>
        ask(['authored', author, object], () => store.findAuthored(via, { author, object }), []),
      findRelation: key =>
        ask(['relation', key.agent, key.relation, key.peer], () => store.findRelation(key), undefined),
    },
    found: () => found,
  }
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
