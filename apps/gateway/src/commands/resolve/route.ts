import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'
import type { ResolvedAddress } from '../../resolve/resolve-address.ts'
import { resolveAddress } from '../../resolve/resolve-address.ts'
import type { ResolvePlatform } from '../../resolve/view/fetched.ts'

const resolvedAddressSchema: z.ZodType<ResolvedAddress> = z
  .object({
    asked: z.string(),
    address: z.string().optional().describe('In its one form; absent when it is no address.'),
    outcome: z
      .enum(['ok', 'faulty', 'unresolved'])
      .describe('`unresolved`: nothing is known of it; `faulty`: some peers fail with it.'),
    found: z.record(z.string(), z.string()).describe('The addresses found, by name.'),
    findings: z.array(
      z.object({
        id: z.string(),
        section: z.string().describe('Of the Mentionable system, or of the standard that says so.'),
        severity: z.enum(['ok', 'warning', 'error']),
        message: z.string(),
        fix: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'ResolvedAddress' }) as z.ZodType<ResolvedAddress>

export const resolveOperations = {
  resolve: defineOperation({
    id: 'resolveAddress',
    method: 'GET',
    path: '/resolve',
    summary: 'Shows what a peer finds behind an address.',
    task: 'resolve',
    query: z.object({ address: z.string().max(1_000).describe('`@name@domain.tld`') }),
    answer: resolvedAddressSchema,
  }),
} as const

/** What a peer would find behind an address, asked from here. `openPlatform`: the way out. */
export function createResolveRoutes(openPlatform: () => ResolvePlatform): readonly OperatorRoute[] {
  return [handleOperation(resolveOperations.resolve, ({ query }) => resolveAddress(query.address, openPlatform()))]
}
