import { ReadableStream } from 'node:stream/web'
import type { Channel, OperatorStore, Platform } from '@postern/core'
import { findChannel, Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import type { AgentViewOptions, MessageStore, StoreMessage, ThreadKey } from '@postern/transcript'
import {
  createTranscriptMessageStore,
  exchangeFormats,
  exportThread,
  importThread,
  isMessageTurnComplete,
  isMessageType,
  messageTypeNames,
  withTurnFrames,
} from '@postern/transcript'
import type { Context } from 'hono'
import { z } from 'zod'
import type { OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation, requireFound } from '../../api/operation.ts'
import { readOwner } from '../owner.ts'

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

interface TranscriptRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes'>
  readonly channels: readonly Channel[]
}

interface AskedThread {
  readonly thread: string
  readonly owner?: string | undefined
}

const linesType = 'application/x-ndjson'

/**
 * Conversations in every dialect of the transcript, out and in; and the four views of a message store over them, with turns as such stores tell of
 * them.
 */
export function createTranscriptRoutes(options: TranscriptRouteOptions): readonly OperatorRoute[] {
  const { store, platform, channels } = options
  const { transcript } = store
  const framed = withTurnFrames(transcript, { max_bytes: maxBytes, is_whole: true })

  async function findThread({ thread, owner }: AskedThread, isMade: boolean): Promise<ThreadKey> {
    const found =
      owner === undefined
        ? await findMessageThread(thread, store)
        : await findOwned(readOwner(owner, channels) ?? owner, thread, isMade)
    return requireFound(found, 'Cannot find thread: there is none of this name')
  }

  /** By transport and key, as its owner has named it. */
  async function findOwned(owner: string, name: string, isMade: boolean): Promise<ThreadKey | undefined> {
    const [, transport, key] = /^([a-z0-9]{1,20}):(.{1,1024})$/s.exec(name) ?? []
    if (transport === undefined || key === undefined) return undefined
    const found =
      (await findChannel(channels, transport)?.findThread?.(owner, key)) ??
      (await transcript.findThread(owner, { transport, key }))
    return found ?? (isMade ? transcript.openThread(owner, { transport, key }) : undefined)
  }

  return [
    handleOperation(transcriptOperations.export, async ({ query, context }) => {
      const thread = await findThread(query, false)
      return streamMessages(context, query.format, exportThread(thread, query.format, { transcript }))
    }),
    handleOperation(transcriptOperations.import, async ({ query, body }) => {
      const thread = await findThread(query, true)
      return importThread(thread, query.format, body.messages, { transcript, platform })
    }),
    handleOperation(transcriptOperations.view, async ({ parameters: { view }, query }) => {
      const asked = readAsked(query)
      const thread = await findThread(query, false)
      const ofThread = { ...framed, findThread: async () => thread }
      const messages = createTranscriptMessageStore({ transcript: ofThread, platform, owner: thread.owner })
      const listed = await views[view](messages, thread.thread_id, asked)
      const [agent_key] = asked.agents
      const isOfOne = view === 'agent' && agent_key !== undefined
      return {
        messages: listed.map(message => ({ ...message })),
        ...(isOfOne && { complete: await isComplete(messages, thread, agent_key) }),
      }
    }),
  ]
}

/** As they are read: one a line for who asks for that, else as one JSON text. Nobody waits for the end, nor is all of it in memory. */
function streamMessages(context: Context, format: string, pages: AsyncIterable<readonly object[]>): Response {
  const isLines = context.req.header('accept')?.includes(linesType) === true
  const text = isLines ? writeLines(pages) : writeJson(format, pages)
  const body = ReadableStream.from(encodeText(text))
  return new Response(body as BodyInit, { headers: { 'content-type': isLines ? linesType : 'application/json' } })
}

async function* writeLines(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(message => `${JSON.stringify(message)}\n`).join('')
}

async function* writeJson(format: string, pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  yield `{"format":${JSON.stringify(format)},"messages":[`
  let isFirst = true
  for await (const page of pages) {
    if (page.length === 0) continue
    yield `${isFirst ? '' : ','}${page.map(message => JSON.stringify(message)).join(',')}`
    isFirst = false
  }
  yield ']}'
}

/** A `TextEncoderStream` would read ahead: also for a HEAD, of which nobody reads anything. */
async function* encodeText(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const piece of text) if (piece !== '') yield encoder.encode(piece)
}

/** Whose the threads are that an operator opens over conversations of the store. */
const operatorOwner = 'operator'

/** The conversation that a message is part of, by its number or its id. */
async function findMessageThread(
  name: string,
  { findMessage, transcript }: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const record = await findMessage(name)
  if (!record) return undefined
  const thread = await transcript.openThread(operatorOwner, { transport: 'desk', key: String(record.thread) })
  await transcript.bindStore(thread, record.thread)
  return thread
}

/** Of a conversation, read at once. */
const maxBytes = 64 * 1024 * 1024

type ViewQuery = OperationRequest<typeof transcriptOperations.view>['query']
type ViewName = OperationRequest<typeof transcriptOperations.view>['parameters']['view']

interface Asked extends AgentViewOptions {
  readonly agents: readonly string[]
}

/** An end farther back counts no more. */
const completionReach = 10

type ReadView = (messages: MessageStore, location: string, asked: Asked) => Promise<readonly StoreMessage[]>

const views: Readonly<Record<ViewName, ReadView>> = {
  conversation: (messages, location, asked) => messages.listConversation(location, asked),
  agent(messages, location, { agents: [agent], ...asked }) {
    if (agent === undefined) throw new Rejection('malformed', 'Cannot read view: agent_key is missing')
    return messages.listAgent(location, agent, asked)
  },
  global: (messages, location, asked) => messages.listGlobal(location, asked),
  team: (messages, location, { agents, ...asked }) => messages.listTeam(location, agents, asked),
}

/** Whether the agent has ended the last turn it began, by the rule of such stores; whatever part of the view is asked for. */
async function isComplete(messages: MessageStore, { thread_id }: ThreadKey, agent_key: string): Promise<boolean> {
  return isMessageTurnComplete(await messages.listAgent(thread_id, agent_key, { tail: completionReach }), { agent_key })
}

function readAsked({ agent_key, types, limit, tail }: ViewQuery): Asked {
  return {
    agents: agent_key ?? [],
    limit,
    tail,
    ...(types !== undefined && { types: types.split(',').filter(isMessageType) }),
  }
}
