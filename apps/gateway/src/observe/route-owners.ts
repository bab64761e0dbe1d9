// Finds the owner of the route that answers a request: a channel, or the gateway itself.
import type { Channel } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { RouterRoute } from 'hono/types'

/** The name of the gateway itself as the owner of a route: pages, discovery, files and the operator’s API. */
export const gatewayOwnerName = 'gateway'

interface OwnedRoute {
  /** The name of the channel. */
  readonly channel: string
  /** The pattern of the route. */
  readonly pattern: string
}

/** Finds the channel to which one of the matched routes belongs; undefined if they are the gateway’s own. */
export type FindRouteOwner = (matchedRoutes: readonly RouterRoute[]) => OwnedRoute | undefined

export function createRouteOwnerFinder(
  channels: readonly Pick<Channel<Hono>, 'descriptor' | 'endpoint'>[],
): FindRouteOwner {
  const owners = new Map(
    channels.flatMap(({ descriptor, endpoint }) =>
      endpoint.routes.routes.map(({ path }) => [path, descriptor.name] as const),
    ),
  )
  return matchedRoutes => {
    const pattern = matchedRoutes.findLast(route => owners.has(route.path))?.path
    const channel = pattern === undefined ? undefined : owners.get(pattern)
    return pattern === undefined || channel === undefined ? undefined : { pattern, channel }
  }
}
