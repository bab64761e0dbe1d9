import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { resolveAddress, resolvedAddressSchema } from '../../resolve/resolve-address.ts'
import type { ResolvePlatform } from '../../resolve/view/fetched.ts'

export const resolveOperation = defineOperation({
  id: 'resolveAddress',
  method: 'GET',
  path: '/resolve',
  summary: 'Shows what a peer finds behind an address.',
  task: 'resolve',
  query: z.object({ address: z.string().max(1_000).describe('`@name@domain.tld`') }),
  answer: resolvedAddressSchema,
})

/** What a peer would find behind an address, asked from here. `openPlatform`: the way out. */
export function createResolveRoute(openPlatform: () => ResolvePlatform): OperatorRoute {
  return handleOperation(resolveOperation, ({ query }) => resolveAddress(query.address, openPlatform()))
}
