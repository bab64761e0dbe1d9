// Lists and lifts suppressed addresses, and sends a test message to the gateway itself, in the operator's API.
import { Rejection } from '@postern/message'
import type { Channel, RelationStore } from '@postern/pipeline'
import { findChannel } from '@postern/pipeline'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { pageOf, unknownNameRefusal } from '../../api/page.ts'
import { listRelationPage, relationFilters, relationSchema } from '../followers/route.ts'

export const suppressionOperations = {
  list: defineOperation({
    id: 'listSuppressions',
    method: 'GET',
    path: '/suppressions',
    summary: 'Lists the addresses that an agent no longer writes to, oldest first.',
    task: 'list suppressions',
    query: z.object(relationFilters),
    answer: pageOf(relationSchema),
    refusals: unknownNameRefusal,
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
    refusals: { no_recipient: 'The address is not suppressed for that agent.' },
  }),
  probe: defineOperation({
    id: 'probeChannel',
    method: 'POST',
    path: '/probes/{channel}',
    summary: 'Sends a message by a channel to the gateway itself.',
    task: 'probe',
    parameters: z.object({ channel: z.string().describe('Name of a channel.') }),
    answer: z.object({ id: z.string().describe('Id of the message, once it is back.') }),
    refusals: {
      unsupported: 'The channel cannot send itself a message.',
      unavailable: 'The server that sends for the channel does not answer.',
    },
  }),
} as const

export interface SuppressionRouteDeps {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly channels: readonly Channel[]
}

export function createSuppressionRoutes({ store, channels }: SuppressionRouteDeps): readonly OperatorRoute[] {
  const defaultChannel = channels.find(channel => channel.peers?.liftSuppression)?.descriptor.name
  return [
    handleOperation(suppressionOperations.list, ({ query }) =>
      listRelationPage(store, { relation: 'suppressed', ...query, defaultChannel }),
    ),
    handleOperation(suppressionOperations.lift, async ({ body: { agent, peer } }) => {
      const liftResults = await Promise.all(channels.map(channel => channel.peers?.liftSuppression?.(agent, peer)))
      requireFound(liftResults.includes(true), 'Cannot lift: the address is not suppressed for that agent')
      return { agent, peer, done: 'lift' as const }
    }),
    handleOperation(suppressionOperations.probe, async ({ parameters }) => {
      const channel = findChannel(channels, parameters.channel)
      if (!channel?.diagnostics?.probe)
        throw new Rejection('unsupported', 'Cannot probe: this channel cannot send itself a message')
      return { id: await channel.diagnostics.probe() }
    }),
  ]
}
