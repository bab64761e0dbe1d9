import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { resolveAddress } from '../../resolve/resolve-address.ts'
import type { ResolvePlatform } from '../../resolve/view/platform.ts'
import { resolveOperations } from './operations.ts'

/** What a peer would find behind an address, asked from here. `openPlatform`: the way out. */
export function createResolveRoutes(openPlatform: () => ResolvePlatform): readonly OperatorRoute[] {
  return [handleOperation(resolveOperations.resolve, ({ query }) => resolveAddress(query.address, openPlatform()))]
}
