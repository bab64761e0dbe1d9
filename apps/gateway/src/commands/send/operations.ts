import type { ExpectedOutcome, SendResult, SimulationCatalogue } from '@postern/simulation'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const expectedOutcomeSchema: z.ZodType<ExpectedOutcome> = z
  .discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('answered') }),
    z.object({ outcome: z.literal('kept'), flag: z.string().describe('Why no agent sees it.') }),
    z.object({
      outcome: z.literal('refused'),
      answer: z.int().describe('HTTP status or SMTP code.'),
      code: z.string(),
    }),
    z.object({ outcome: z.literal('later'), answer: z.int().describe('HTTP status or SMTP code.') }),
  ])
  .meta({ id: 'ExpectedOutcome' })

const sendResultSchema: z.ZodType<SendResult & { readonly expected: ExpectedOutcome }> = z
  .object({
    id: z.string().describe('Activity IRI, messageId or Message-ID.'),
    status: z.string().describe('`answered`, `no_reply` or `refused`; of A2A the state of the task.'),
    thread: z.string().describe('Goes on there as `thread` of the next one.'),
    reply: z.object({ text: z.string(), raw: z.unknown() }).optional(),
    refusal: z
      .object({ answer: z.int().describe('HTTP status or SMTP code.'), text: z.string() })
      .optional()
      .describe('Where the gateway did not take it.'),
    expected: expectedOutcomeSchema,
  })
  .meta({ id: 'SendResult' })

const word = z.string().min(1)

/** What `postern send` and the console ask of the simulation. */
export const simulationOperations = {
  describe: defineOperation({
    id: 'describeSimulation',
    method: 'GET',
    path: '/simulation',
    summary: 'Lists what the simulation can send: personas, visibilities, faults and what each leads to (dev mode).',
    task: 'describe simulation',
    answer: z
      .object({
        personas: z.array(z.object({ via: word, from: word, what: z.string().describe('Who it is.') })),
        visibilities: z.record(z.string(), z.array(z.string())).describe('By channel.'),
        faults: z.array(z.object({ fault: word, what: z.string().describe('What is wrong.'), via: z.array(word) })),
        entries: z.array(
          z.object({
            via: word,
            from: word,
            visibility: word.optional(),
            fault: word.optional(),
            expected: expectedOutcomeSchema,
          }),
        ),
      })
      .meta({ id: 'SimulationCatalogue' }) as unknown as z.ZodType<SimulationCatalogue>,
  }),
  send: defineOperation({
    id: 'sendFromSimulation',
    method: 'POST',
    path: '/simulation/send',
    summary: 'Sends a signed message from the simulation and waits for the answer (dev mode).',
    task: 'send',
    body: {
      schema: z.strictObject({
        via: word.describe('A channel that the simulation speaks.'),
        to: word.describe('An agent: `echo`, `echo@agents.test` or `@echo@agents.test`.'),
        text: z.string(),
        from: word.optional().describe('A persona; default: the first of the channel.'),
        visibility: word.optional().describe('Of a post.'),
        fault: word.optional().describe('What is wrong about it.'),
        thread: word.optional().describe('`thread` of an earlier result, to go on there.'),
      }),
      maxBytes: 1024 * 1024,
    },
    answer: sendResultSchema,
    refusals: { unavailable: 'The simulation could not send it.' },
  }),
} as const
