import type { Channel, RelationStore } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { pageOf } from '../../api/page.ts'
import { listRelationPage, relationFilters, relationSchema } from '../followers/route.ts'

export const suppressionOperations = {
  list: defineOperation({
    id: 'listSuppressions',
    method: 'GET',
    path: '/suppressions',
    summary: 'Lists the addresses that get nothing more of an agent, oldest first.',
    task: 'list suppressions',
    query: z.object(relationFilters),
    answer: pageOf(relationSchema),
  }),
  lift: defineOperation({
    id: 'liftSuppression',
    method: 'POST',
    path: '/suppressions/lift',
    summary: 'Lets an agent write to an address again.',
    task: 'lift suppression',
    body: {
      schema: z.strictObject({
        agent: z.string().describe('Name of the agent.'),
        peer: z.string().describe('The address.'),
      }),
    },
    answer: z.object({ agent: z.string(), peer: z.string(), done: z.literal('lift') }),
    refusals: { no_recipient: 'Nothing to this address is suppressed for that agent.' },
  }),
  probe: defineOperation({
    id: 'probeChannel',
    method: 'POST',
    path: '/probes/{channel}',
    summary: 'Sends a message by a channel to the gateway itself.',
    task: 'probe',
    parameters: z.object({ channel: z.string().describe('Name of a channel.') }),
    answer: z.object({ id: z.string().describe('Id of the message, once it is back.') }),
    refusals: { unsupported: 'The channel cannot.', unavailable: 'What it goes by does not answer.' },
  }),
} as const

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
      requireFound(lifted.includes(true), 'Cannot lift: nothing to this address is suppressed for that agent')
      return { agent, peer, done: 'lift' as const }
    }),
    handleOperation(suppressionOperations.probe, async ({ parameters }) => {
      const channel = findChannel(channels, parameters.channel)
      if (!channel?.probe) throw new Rejection('unsupported', 'Cannot probe: this channel has no way to')
      return { id: await channel.probe() }
    }),
  ]
}
