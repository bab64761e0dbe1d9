// Finds the owner of the route that answers a request: a channel, or the gateway itself.
import type { Channel } from '@postern/pipeline'
import type { Context, Hono } from 'hono'
import { matchedRoutes } from 'hono/route'

/** The name of the gateway itself as the owner of a route: pages, discovery, files and the operator’s API. */
export const gatewayOwnerName = 'gateway'

interface OwnedRoute {
  /** The name of the channel. */
  readonly channel: string
  /** The pattern of the route. */
  readonly pattern: string
}

/** Finds the channel whose route a request has matched; undefined if the route is the gateway’s own. */
export type FindRouteOwner = (context: Context) => OwnedRoute | undefined

export function createRouteOwnerFinder(
  channels: readonly Pick<Channel<Hono>, 'descriptor' | 'endpoint'>[],
): FindRouteOwner {
  const owners = new Map(
    channels.flatMap(({ descriptor, endpoint }) =>
      endpoint.routes.routes.map(({ path }) => [path, descriptor.name] as const),
    ),
  )
  return context => {
    const pattern = matchedRoutes(context).findLast(route => owners.has(route.path))?.path
    const channel = pattern === undefined ? undefined : owners.get(pattern)
    return pattern === undefined || channel === undefined ? undefined : { pattern, channel }
  }
}
