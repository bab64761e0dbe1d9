import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import { pageOf } from '../../api/page.ts'
import { relationFilters, relationSchema } from '../followers/operations.ts'

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
