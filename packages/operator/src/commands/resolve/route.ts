// Shows what a peer finds at an address, in the operator's API.
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import { resolveAddress, resolvedAddressSchema } from '../../resolve/resolve-address.ts'
import type { ResolveSystem } from '../../resolve/view/peer-fetch.ts'

export const resolveOperation = defineOperation({
  id: 'resolveAddress',
  method: 'GET',
  path: '/resolve',
  summary: 'Shows what a peer finds behind an address.',
  task: 'resolve',
  query: z.object({ address: z.string().max(1_000).describe('`@name@domain.tld`') }),
  answer: resolvedAddressSchema,
})

export function createResolveRoute(openSystem: () => ResolveSystem): OperatorRoute {
  return handleOperation(resolveOperation, ({ query }) => resolveAddress(query.address, openSystem()))
}
