import type { Channel } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { keyOperations } from './operations.ts'

/** Public keys, and new ones. */
export function createKeyRoutes({ channels }: { readonly channels: readonly Channel[] }): readonly OperatorRoute[] {
  return [
    handleOperation(keyOperations.list, async () => {
      const published = await Promise.all(
        channels.map(async channel => ({ via: channel.descriptor.name, keys: await channel.publishedKeys() })),
      )
      return { keys: published.flatMap(({ via, keys }) => keys.map(key => ({ via, ...key }))) }
    }),
    handleOperation(keyOperations.rotate, async ({ body: { agent, revoke } }) => {
      const rotated = await Promise.all(
        channels.map(async channel => {
          const keys = await channel.rotateKeys?.(agent, { isRevoking: revoke })
          return { via: channel.descriptor.name, keys: keys ?? [] }
        }),
      )
      return { keys: rotated.flatMap(({ via, keys }) => keys.map(key => ({ via, ...key }))) }
    }),
  ]
}
