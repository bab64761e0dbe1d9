import type { ChannelName } from '../message/message.ts'
import type { Page } from './records/page.ts'
import type { Authorship, Decision, KnownMessage, Relation, RelationKey, Withdrawal } from './records/relation.ts'
import type { RelationKind } from './records/relation-kind.ts'

/** Those of one agent by one channel; or else all. */
type RelationFilter =
  | { readonly via: ChannelName; readonly agent: string; readonly relation: RelationKind }
  | { readonly via?: undefined; readonly agent?: undefined }

export interface RelationStore {
  findRelation(key: RelationKey): Promise<Relation | undefined>
  /** Oldest first. Without `agent` and `via` all there are, of every kind. */
  listRelations(filter: RelationFilter & Page): Promise<readonly Relation[]>
  countRelations(filter: Omit<RelationKey, 'peer'>): Promise<number>
  /** What the operator decides about a kept message, in one transaction, as if it had come with the message. */
  decide(message: number, decision: Decision): Promise<void>
}

export interface WithdrawalStore {
  /**
   * The content of what is taken back is gone when this resolves (entries, raw, bytes that nothing else refers to); its ids
   * stay, so that a duplicate is still one. Open turns fail with `canceled`, deliveries not yet sent die.
   */
  withdraw(via: ChannelName, withdrawals: readonly Withdrawal[]): Promise<void>
  /** Every message of this authorship that is not taken back, one or more per agent, oldest first. */
  findAuthored(via: ChannelName, authorship: Authorship): Promise<readonly KnownMessage[]>
}
