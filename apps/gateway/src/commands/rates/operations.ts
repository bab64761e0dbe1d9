import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const spanSchema = z.object({
  messages: z.int().describe('How many came in it.'),
  p95_ms: z.int().optional().describe('From arrival until the end of the turn: 95 of 100 took no longer.'),
})

export const rateOperations = {
  read: defineOperation({
    id: 'readRates',
    method: 'GET',
    path: '/rates',
    summary: 'Says how many messages came by each channel in the last hour, and how long they took.',
    task: 'read rates',
    answer: z.object({
      since: z.string().describe('ISO 8601 UTC: later than an hour ago when very many came.'),
      until: z.string().describe('ISO 8601 UTC.'),
      channels: z
        .array(
          z.object({
            channel: z.string(),
            ...spanSchema.shape,
            per_hour: z.int().describe('Messages, at the rate since then.'),
            spans: z.array(spanSchema).readonly().describe('The hour in spans of five minutes, oldest first.'),
          }),
        )
        .readonly(),
    }),
  }),
} as const
