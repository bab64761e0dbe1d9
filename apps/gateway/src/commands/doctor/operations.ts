import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

export const proxyOperations = {
  list: defineOperation({
    id: 'listProxies',
    method: 'GET',
    path: '/proxies',
    summary: 'Lists private peers that pass requests on and are no trusted proxies.',
    task: 'list proxies',
    answer: z.object({ unknown: z.array(z.string()).readonly().describe('IP addresses, oldest first.') }),
  }),
} as const
