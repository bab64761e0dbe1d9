import type { Channel } from '@postern/core'
import { Rejection } from '@postern/core'
import { parseBoundedJson, readBody } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'

interface Rotation {
  /** None means all. */
  readonly agent: string | undefined
  /** The old keys are taken back at once: somebody else has them. */
  readonly isRevoking: boolean
}

const maxBytes = 65_536

/** Public keys, and new ones. */
export function createKeyRoutes({ channels }: { readonly channels: readonly Channel[] }): Hono {
  return new Hono()
    .get('/keys', async context => {
      const published = await Promise.all(
        channels.map(async channel => ({ via: channel.descriptor.name, keys: await channel.publishedKeys() })),
      )
      return context.json({ keys: published.flatMap(({ via, keys }) => keys.map(key => ({ via, ...key }))) })
    })
    .post('/keys/rotate', async context => {
      const { agent, isRevoking } = await readRotation(context)
      const rotated = await Promise.all(
        channels.map(async ({ descriptor, rotateKeys }) => {
          return { via: descriptor.name, keys: (await rotateKeys?.(agent, { isRevoking })) ?? [] }
        }),
      )
      return context.json({ keys: rotated.flatMap(({ via, keys }) => keys.map(key => ({ via, ...key }))) })
    })
}

/** `{ "agent": "…", "revoke": true }`, both of which may be absent. */
async function readRotation(context: Context): Promise<Rotation> {
  const bytes = await readBody(context.req.raw, maxBytes)
  const body: unknown = bytes.length === 0 ? {} : parseBoundedJson(bytes, { maxDepth: 4, what: 'request' })
  const { agent, revoke = false } = (body ?? {}) as { readonly agent?: unknown; readonly revoke?: unknown }
  if (agent !== undefined && typeof agent !== 'string')
    throw new Rejection('malformed', 'Cannot rotate keys: "agent" must be a name')
  if (typeof revoke !== 'boolean')
    throw new Rejection('malformed', 'Cannot rotate keys: "revoke" must be true or false')
  return { agent, isRevoking: revoke }
}
