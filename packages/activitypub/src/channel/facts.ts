// Records the answers of the store about an activity for a later replay.

import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'
import type { Relation, RelationKey, Store } from '@postern/pipeline'
import type { InboxLookups, ResolvedInboxRequest } from '../inbox/activity-kind.ts'
import { isUnderstood } from '../inbox/activity-kind.ts'
import type { StoredFacts } from '../proofs/proven-activity.ts'

/**
 * Creates a store that records its answers, because follows and earlier activities may no longer exist when the activity
 * is read again. With `recordedFacts`, the store answers from the record instead. `list` returns the recorded facts, which
 * are the queries that had a result.
 */
export function createFactRecorder(store: Pick<Store, keyof InboxLookups['store']>, recordedFacts?: StoredFacts) {
  const facts: Record<string, Json> = {}
  async function recordFact<Answer>(
    question: readonly unknown[],
    query: () => Promise<Answer>,
    fallback: Answer,
  ): Promise<Answer> {
    const factKey = JSON.stringify(question)
    if (recordedFacts) return (recordedFacts[factKey] as Answer | undefined) ?? fallback
    const answer = await query()
    if (answer !== undefined && !(Array.isArray(answer) && answer.length === 0)) facts[factKey] = answer as Json
    return answer
  }
  const recordingStore: InboxLookups['store'] = {
    findResponse: id => store.findResponse(id),
    findAuthored: (via, { author, object }) =>
      recordFact(['authored', author, object], () => store.findAuthored(via, { author, object }), []),
    findRelation: key => recordFact(listRelationKey(key), () => store.findRelation(key), undefined),
    async listPeerRelations(peerKey) {
      if (recordedFacts) return listRecordedRelations(recordedFacts, peerKey.peer)
      const relations = await store.listPeerRelations(peerKey)
      for (const relation of relations) facts[JSON.stringify(listRelationKey(relation))] = relation as unknown as Json
      return relations
    },
  }
  return { store: recordingStore, list: (): StoredFacts => facts }
}

function listRelationKey({ agent, relation, peer }: Pick<RelationKey, 'agent' | 'relation' | 'peer'>) {
  return ['relation', agent, relation, peer]
}

/** Lists the recorded relations of a peer. Each relation has its own key, regardless of the query that found it. */
function listRecordedRelations(facts: StoredFacts, peer: string): readonly Relation[] {
  return Object.values(facts).filter(
    (fact): fact is Json & Relation => isJsonObject(fact) && fact.peer === peer && 'relation' in fact,
  )
}

/** Stores the recorded facts with the activity. */
export function addFacts(request: ResolvedInboxRequest, facts: StoredFacts): ResolvedInboxRequest {
  if (!isUnderstood(request) || Object.keys(facts).length === 0) return request
  const { kind, resolved: resolvedActivity } = request
  const { arrival } = resolvedActivity.proven
  const arrivalWithFacts = isJsonObject(arrival) ? { ...arrival, facts } : arrival
  return {
    kind,
    resolved: { ...resolvedActivity, proven: { ...resolvedActivity.proven, arrival: arrivalWithFacts as Json } },
  }
}

export function readFacts(arrival: Json): StoredFacts {
  return isJsonObject(arrival) && isJsonObject(arrival.facts) ? (arrival.facts as StoredFacts) : {}
}
