// Declares the operations of the simulation: describe what it can send, and send a message.
import type { Json } from '@postern/message'
import { resolutionOutcomes } from '@postern/message'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const expectedOutcomeSchema = z
  .discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('answered') }),
    z.object({ outcome: z.literal('kept'), flag: z.string().describe('Reason why no agent sees the message.') }),
    z.object({
      outcome: z.literal('refused'),
      answer: z.int().describe('HTTP status or SMTP code.'),
      code: z.string(),
    }),
    z.object({ outcome: z.literal('later'), answer: z.int().describe('HTTP status or SMTP code.') }),
  ])
  .meta({ id: 'ExpectedOutcome' })

/** The end of a message that the simulation’s catalogue expects. */
export type ExpectedEnd = Readonly<z.infer<typeof expectedOutcomeSchema>>

const id = z.string().describe('Activity IRI, messageId or Message-ID.')
const thread = z.string().describe('Continues the conversation, as `thread` of the next message.')

const sentMessageSchema = z
  .object({
    id,
    status: z
      .string()
      .describe(
        '`answered`, `refused`, `working` (the wait ended first) or `no_reply` (the turn ended without an answer); for a task or run, its state.',
      ),
    thread,
    reply: z.object({ text: z.string(), raw: z.unknown() }).optional(),
    refusal: z
      .object({ answer: z.int().describe('HTTP status or SMTP code.'), text: z.string() })
      .optional()
      .describe('Present if the gateway refused the message.'),
    expected: expectedOutcomeSchema,
  })
  .meta({ id: 'SendResult' })

export type SentMessage = Readonly<z.infer<typeof sentMessageSchema>>

/** A message that the gateway has stored and not yet answered. */
const sendProgressSchema = z.object({
  id,
  status: z.literal('working'),
  thread,
  wait_seconds: z.number().describe('Total time that the gateway waits for the answer.'),
})

export type SendProgress = z.infer<typeof sendProgressSchema>

const nonEmptyText = z.string().min(1)

const choicesSchema = z
  .object({
    personas: z
      .array(z.object({ via: nonEmptyText, from: nonEmptyText, what: z.string().describe('The persona in words.') }))
      .readonly(),
    visibilities: z.record(z.string(), z.array(z.string()).readonly()).describe('By channel.'),
    faults: z
      .array(
        z.object({
          fault: nonEmptyText,
          what: z.string().describe('The fault in words.'),
          via: z.array(nonEmptyText).readonly(),
        }),
      )
      .readonly(),
    entries: z
      .array(
        z.object({
          via: nonEmptyText,
          from: nonEmptyText,
          visibility: nonEmptyText.optional(),
          fault: nonEmptyText.optional(),
          expected: expectedOutcomeSchema,
        }),
      )
      .readonly(),
  })
  .meta({ id: 'SimulationCatalogue' })

/** Everything that the simulation can send. */
export type SimulatedChoices = Readonly<z.infer<typeof choicesSchema>>

/** The maximum size of all files of one test message together, bytes. */
export const maxSentFileBytes = 25 * 1024 * 1024

const sentFileSchema = z.strictObject({
  name: nonEmptyText.describe('Name of the file, without a folder.'),
  mime: nonEmptyText.describe('Media type.'),
  data_base64: z.base64().describe('Bytes of the file.'),
})

export type EncodedFile = z.infer<typeof sentFileSchema>

const inboxItemSchema = z
  .object({
    via: nonEmptyText,
    type: z.string().describe('`mail`, or the type of the activity, such as `Create`.'),
    from: z.string().describe('The IRI of the actor, or the `From` field of the mail.'),
    subject: z.string().optional().describe('Subject of the mail, or content warning of the post.'),
    text: z.string(),
    files: z.array(sentFileSchema),
    id: z.string().optional().describe('Id to which a reply would refer.'),
  })
  .meta({ id: 'InboxItem' })

export const simulationOperations = {
  describe: defineOperation({
    id: 'describeSimulation',
    method: 'GET',
    path: '/simulation',
    summary:
      'Lists what the simulation can send: personas, visibilities, faults, with the expected result of each (dev mode).',
    task: 'describe simulation',
    answer: choicesSchema,
  }),
  send: defineOperation({
    id: 'sendFromSimulation',
    method: 'POST',
    path: '/simulation/send',
    summary: 'Sends a signed message from the simulation and waits for the answer (dev mode).',
    task: 'send',
    body: {
      schema: z.strictObject({
        via: nonEmptyText.describe('A channel that the simulation speaks.'),
        to: nonEmptyText.describe('An agent: `echo`, `echo@agents.test` or `@echo@agents.test`.'),
        text: z.string().default('').describe('Text of the message; a message may have only files.'),
        files: z.array(sentFileSchema).max(10).optional().describe('Attached files.'),
        from: nonEmptyText.optional().describe('A persona; default: the first of the channel.'),
        visibility: nonEmptyText.optional().describe('Visibility of a post.'),
        fault: nonEmptyText.optional().describe('Fault of the message.'),
        thread: nonEmptyText.optional().describe('`thread` of an earlier result, to continue its conversation.'),
        timeout_seconds: z
          .number()
          .positive()
          .max(7 * 24 * 3600)
          .optional()
          .describe('Longest wait for the answer; default: the deadline of the agent, and some seconds.'),
      }),
      // Base64 makes files a third larger.
      maxBytes: Math.ceil(maxSentFileBytes * 1.34) + 1024 * 1024,
    },
    mediaTypes: {
      'application/json': sentMessageSchema,
      'application/x-ndjson': z
        .string()
        .describe(
          'For a client that accepts this type: a line with `status` `working` once the message is stored, and the result as the last line.',
        ),
    },
    refusals: { unavailable: 'The simulation could not send it.' },
  }),
  inbox: defineOperation({
    id: 'listSimulationInbox',
    method: 'GET',
    path: '/simulation/inbox',
    summary: 'Lists what reached a person of the simulation, in order (dev mode).',
    task: 'list inbox',
    query: z.object({ persona: nonEmptyText.describe('An account of the fediverse, or a mailbox.') }),
    answer: z.object({ items: z.array(inboxItemSchema) }),
    refusals: { no_recipient: 'The person has no inbox.' },
  }),
  follow: defineOperation({
    id: 'followInSimulation',
    method: 'POST',
    path: '/simulation/follow',
    summary: 'Lets a person of the simulated fediverse follow an agent (dev mode).',
    task: 'follow',
    body: {
      schema: z.strictObject({ persona: nonEmptyText.describe('An account of the fediverse.'), agent: nonEmptyText }),
    },
    answer: z.object({ persona: z.string(), agent: z.string() }),
    refusals: { forbidden: 'The agent has not accepted, or there is no such account.' },
  }),
  decide: defineOperation({
    id: 'decideInSimulation',
    method: 'POST',
    path: '/simulation/decide',
    summary: 'Decides what an agent asks for, in the place of the operator or the person (dev mode).',
    task: 'decide',
    body: {
      schema: z
        .strictObject({
          requirement: nonEmptyText.optional().describe('Id of the requirement.'),
          message: nonEmptyText.optional().describe('Number or id of the message whose answer asks for it.'),
          outcome: z.enum(resolutionOutcomes),
          arguments: (z.json() as z.ZodType<Json>).optional().describe('Arguments for the call instead of its own.'),
        })
        .refine(
          ({ requirement, message }) => (requirement === undefined) !== (message === undefined),
          'must name the requirement or the message',
        ),
      maxDepth: 64,
    },
    answer: z.object({ message: z.int().describe('Number of the message that the decision is.') }),
    refusals: { forbidden: 'There is no such requirement, or it cannot be decided.' },
  }),
} as const
