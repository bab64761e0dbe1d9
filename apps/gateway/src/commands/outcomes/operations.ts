import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const outcomeSchema = z
  .object({
    message: z.int().describe('The gateway’s number of it.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('What became of it and why, in one line.'),
    took_ms: z.int().optional().describe('From its arrival until its turn was over; absent while it goes on.'),
    deliveries: z.array(z.string()).readonly().describe('State of each delivery of its answer.'),
  })
  .meta({ id: 'Outcome' })

const mostNumbers = 500

export const outcomeOperation = defineOperation({
  id: 'listOutcomes',
  method: 'GET',
  path: '/outcomes',
  summary: 'Says of several messages at once what became of each: for lists.',
  task: 'list outcomes',
  query: z.object({
    messages: z
      .string()
      .regex(/^\d{1,15}(,\d{1,15}){0,499}$/, `must be up to ${mostNumbers} numbers, with commas between them`)
      .describe(`Numbers of messages, with commas between them; at most ${mostNumbers}.`),
  }),
  answer: z.object({ outcomes: z.array(outcomeSchema).readonly() }),
})
