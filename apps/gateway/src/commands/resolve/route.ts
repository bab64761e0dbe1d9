import { Rejection } from '@postern/core'
import { Hono } from 'hono'
import { resolveAddress } from '../../resolve/resolve-address.ts'
import type { ResolvePlatform } from '../../resolve/view/platform.ts'

/** What a peer would find behind an address, asked from here. `openPlatform`: the way out. */
export function createResolveRoutes(openPlatform: () => ResolvePlatform): Hono {
  return new Hono().get('/resolve', async context => {
    const address = context.req.query('address')
    if (address === undefined || address.length > 1000)
      throw new Rejection('malformed', 'Cannot resolve: say "address", as @name@domain.tld')
    return context.json(await resolveAddress(address, openPlatform()))
  })
}
