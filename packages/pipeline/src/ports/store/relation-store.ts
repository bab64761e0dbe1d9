// Declares the storage of relations between agents and peers, such as follower.

import type { ChannelName } from '@postern/message'
import type { Page } from '../records/operator/page.ts'
import type { RelationKind } from '../records/planned-delivery.ts'
import type { Relation, RelationDecision, RelationKey } from '../records/relation.ts'

/** The relations of one agent on one channel, or all relations. */
type RelationFilter =
  | { readonly via: ChannelName; readonly agent: string; readonly relation: RelationKind }
  | { readonly via?: undefined; readonly agent?: undefined }

export interface RelationStore {
  findRelation(key: RelationKey): Promise<Relation | undefined>
  /** Lists relations, oldest first. Without `agent` and `via` it lists relations of every kind. */
  listRelations(filter: RelationFilter & Page): Promise<readonly Relation[]>
  /** Lists the relations of a peer with all agents, oldest first. */
  listPeerRelations(peer: Pick<RelationKey, 'via' | 'peer'>): Promise<readonly Relation[]>
  countRelations(filter: Omit<RelationKey, 'peer'>): Promise<number>
  /** Applies an operator's decision about a message that was kept from the agent, in one transaction, as if it had arrived with the message. */
  decide(message: number, decision: RelationDecision): Promise<void>
}
