import { rejectionCodes } from '@postern/core'
import { z } from 'zod'

/** What is answered when something is refused (RFC 9457). */
export const problemSchema = z
  .object({
    title: z.string().describe('The words of the status.'),
    status: z.int(),
    detail: z.string().optional().describe('What could not be done, why, and what would be right.'),
    code: z.enum([...rejectionCodes, 'unavailable']).optional(),
    violations: z
      .array(z.object({ field: z.string(), description: z.string() }))
      .optional()
      .describe('Each member of the request that is wrong.'),
  })
  .meta({ id: 'Problem' })
