import type { Channel, PublishedKey } from '@postern/core'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const publishedKeySchema = z
  .object({
    via: z.string().describe('Channel.'),
    purpose: z.string().describe('What it signs.'),
    id: z.string(),
    algorithm: z.string(),
    publicKey: z.string().describe('PEM, or what the channel publishes.'),
    dns: z
      .object({ name: z.string(), type: z.literal('TXT'), value: z.string() })
      .optional()
      .describe('The record to publish.'),
    madeAt: z.string().optional().describe('ISO 8601 UTC; absent where it is no key of ours.'),
  })
  .meta({ id: 'PublishedKey' })

const keyListSchema = z.object({ keys: z.array(publishedKeySchema) })

export const keyOperations = {
  list: defineOperation({
    id: 'listKeys',
    method: 'GET',
    path: '/keys',
    summary: 'Lists the public keys, and the DNS records to publish.',
    task: 'list keys',
    answer: keyListSchema,
  }),
  rotate: defineOperation({
    id: 'rotateKeys',
    method: 'POST',
    path: '/keys/rotate',
    summary: 'Makes new keys, of one agent or of all.',
    task: 'rotate keys',
    body: {
      schema: z.strictObject({
        agent: z.string().optional().describe('Default: all agents.'),
        revoke: z.boolean().default(false).describe('Take the old keys back at once: somebody else has them.'),
      }),
      isOptional: true,
    },
    answer: keyListSchema,
    refusals: { no_recipient: 'There is no such agent.' },
  }),
}

/** Public keys, and new ones. */
export function createKeyRoutes({ channels }: { readonly channels: readonly Channel[] }): readonly OperatorRoute[] {
  const listBy = async (ask: (channel: Channel) => Promise<readonly PublishedKey[]> | undefined) => {
    const found = channels.map(async channel => {
      const keys = (await ask(channel)) ?? []
      return keys.map(key => ({ via: channel.descriptor.name, ...key }))
    })
    return { keys: (await Promise.all(found)).flat() }
  }
  return [
    handleOperation(keyOperations.list, () => listBy(channel => channel.publishedKeys())),
    handleOperation(keyOperations.rotate, ({ body: { agent, revoke } }) =>
      listBy(channel => channel.rotateKeys?.(agent, { isRevoking: revoke })),
    ),
  ]
}
