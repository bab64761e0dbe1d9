import type { Channel, RelationStore } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { listRelationPage } from '../followers/list-relations.ts'
import { suppressionOperations } from './operations.ts'

export interface SuppressionRouteOptions {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

/** Addresses that nothing is sent to any more, the operator's word on them, and a message to ourselves. */
export function createSuppressionRoutes({ store, channels }: SuppressionRouteOptions): readonly OperatorRoute[] {
  const usual = channels.find(channel => channel.liftSuppression)?.descriptor.name
  return [
    handleOperation(suppressionOperations.list, ({ query }) =>
      listRelationPage(store, { relation: 'suppressed', ...query, usual }),
    ),
    handleOperation(suppressionOperations.lift, async ({ body: { agent, peer } }) => {
      const lifted = await Promise.all(channels.map(channel => channel.liftSuppression?.(agent, peer)))
      if (!lifted.includes(true))
        throw new Rejection('no_recipient', 'Cannot lift: nothing to this address is suppressed for that agent')
      return { agent, peer, done: 'lift' as const }
    }),
    handleOperation(suppressionOperations.probe, async ({ parameters }) => {
      const channel = findChannel(channels, parameters.channel)
      if (!channel?.probe) throw new Rejection('unsupported', 'Cannot probe: this channel has no way to')
      return { id: await channel.probe() }
    }),
  ]
}
