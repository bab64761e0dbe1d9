import { exchangeFormats, isMessageType, messageTypeNames } from '@postern/transcript'
import { z } from 'zod'
import { defineOperation } from '../../api/operation.ts'

const place = {
  format: z.enum(exchangeFormats),
  thread: z
    .string()
    .min(1)
    .max(2_048)
    .describe('A message of it, by number or id; with `owner` its transport and key, as its owner names it.'),
  owner: z.string().max(8_000).optional().describe('Whose conversation it is, as `web:["https://id.example","ann"]`.'),
}
const unknownThread = { no_recipient: 'There is no such conversation.' }
const viewNames = ['conversation', 'agent', 'global', 'team'] as const
const count = z.int().min(0).max(1_000_000).optional()
const exported = z.looseObject({})

export const transcriptOperations = {
  export: defineOperation({
    id: 'exportTranscript',
    method: 'GET',
    path: '/transcript',
    summary: 'Exports a conversation in one of the formats of the transcript.',
    task: 'read transcript',
    query: z.object(place),
    media: {
      'application/json': z.object({ format: place.format, messages: z.array(exported) }),
      'application/x-ndjson': z.string().describe('One message a line; for a client that accepts this type.'),
    },
    refusals: unknownThread,
  }),
  import: defineOperation({
    id: 'importTranscript',
    method: 'POST',
    path: '/transcript',
    summary: 'Imports messages of one format into a conversation.',
    task: 'import',
    query: z.object(place),
    body: {
      schema: z.strictObject({ messages: z.array(z.unknown()).max(100_000) }),
      maxBytes: 64 * 1024 * 1024,
      maxDepth: 40,
    },
    answer: z.object({
      entries: z.int().describe('Entries of the messages, new or known.'),
      added: z.int().describe('How many of them are new.'),
      findings: z.array(z.object({ index: z.int().describe('Of the message.'), message: z.string() })).readonly(),
    }),
    refusals: unknownThread,
  }),
  view: defineOperation({
    id: 'readView',
    method: 'GET',
    path: '/transcript/views/{view}',
    summary: 'Shows one view of a conversation, as a message store has it.',
    task: 'read view',
    parameters: z.object({ view: z.enum(viewNames) }),
    query: z.object({
      thread: place.thread,
      agent_key: z.array(z.string()).optional().describe('Of a view of one agent its key; of a team each of them.'),
      types: z
        .string()
        .refine(text => text.split(',').every(isMessageType), `must be of ${messageTypeNames.join(', ')}`)
        .optional()
        .describe('Only messages of these types, with commas between them.'),
      limit: count.describe('Most messages, from the beginning.'),
      tail: count.describe('Most messages, from the end.'),
    }),
    answer: z.object({
      messages: z.array(exported).readonly(),
      complete: z.boolean().optional().describe('Of a view of one agent: it has ended the last turn it began.'),
    }),
    refusals: unknownThread,
  }),
} as const
