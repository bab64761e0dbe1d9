import type { Channel, RelationStore } from '@postern/core'
import { Rejection } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { listRelationPage } from './list-relations.ts'
import { followerOperations } from './operations.ts'

export interface FollowerOptions {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

/** Who stands how to an agent, and the operator's word on those who ask to follow it. */
export function createFollowerRoutes({ store, channels }: FollowerOptions): readonly OperatorRoute[] {
  const usual = channels.find(channel => channel.decideFollow)?.descriptor.name
  return [
    handleOperation(followerOperations.list, ({ query }) => listRelationPage(store, { ...query, usual })),
    handleOperation(followerOperations.decide, async ({ parameters: { verdict }, body: { agent, peer } }) => {
      const isAccepted = verdict === 'accept'
      const decided = await Promise.all(channels.map(channel => channel.decideFollow?.(agent, peer, isAccepted)))
      if (!decided.includes(true)) {
        throw new Rejection('no_recipient', 'Cannot decide: nobody of this name asks to follow that agent')
      }
      return { agent, peer, done: verdict }
    }),
  ]
}
