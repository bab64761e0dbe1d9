import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'
import type { WhyAnswer } from '../../why/explanation.ts'

const instant = z.string().describe('ISO 8601 UTC.')

const explanationSchema: z.ZodType<WhyAnswer['explanations'][number]> = z
  .object({
    kind: z.enum(['message', 'refusal', 'nothing']),
    message: z.int().optional().describe('The gateway’s number of the message.'),
    id: z.string().optional().describe('The peer’s id of it.'),
    via: z.string().optional().describe('Channel.'),
    agent: z.string().optional(),
    sender: z.string().optional().describe('Address of the sender; of a refusal, as it claims.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('What happened, why and since when, in one line.'),
    since: instant,
    evidence: z
      .array(z.object({ at: instant.optional(), fact: z.string() }))
      .describe('What the gateway observed, oldest first; facts without a time come last.'),
    fix: z
      .object({ text: z.string(), command: z.string().optional().describe('To copy.') })
      .optional()
      .describe('What to do; absent when there is nothing to fix.'),
  })
  .meta({ id: 'Explanation' })

const answerSchema: z.ZodType<WhyAnswer> = z
  .object({
    asked: z.string(),
    found: z.enum(['id', 'message', 'delivery', 'address', 'refusal', 'nothing']).describe('The words that found it.'),
    explanations: z.array(explanationSchema).describe('Best first: of an id the message, of an address the newest.'),
  })
  .meta({ id: 'WhyAnswer' })

export const whyOperation = defineOperation({
  id: 'explain',
  method: 'GET',
  path: '/why/{id}',
  summary: 'Says why a message, refusal or delivery went as it did: the reason, the evidence, the fix.',
  task: 'explain',
  parameters: z.object({
    id: z
      .string()
      .describe(
        'A number (`3`, `#3`, `d3` of a delivery, `r3` of a refusal), an id, or the address of a sender or an agent; percent-encoded.',
      ),
  }),
  answer: answerSchema,
})
