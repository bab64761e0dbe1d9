// Exports and imports conversations, and shows views of them, in the operator's API.
import { ReadableStream } from 'node:stream/web'
import type { System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { Channel, OperatorStore } from '@postern/pipeline'
import { findChannel } from '@postern/pipeline'
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
import { parseOwner } from '../parse-owner.ts'

const threadQuery = {
  format: z.enum(exchangeFormats),
  thread: z
    .string()
    .min(1)
    .max(2_048)
    .describe('A message of the conversation, by number or id; with `owner`, the transport and key of the thread.'),
  owner: z
    .string()
    .max(8_000)
    .optional()
    .describe('Owner of the conversation, such as `web:["https://id.example","ann"]`.'),
}

const unknownThread = { no_recipient: 'There is no such conversation.' }
const viewNames = ['conversation', 'agent', 'global', 'team'] as const
const count = z.int().min(0).max(1_000_000).optional()
const exportedMessage = z.looseObject({})

export const transcriptOperations = {
  export: defineOperation({
    id: 'exportTranscript',
    method: 'GET',
    path: '/transcript',
    // The first export of a conversation creates its thread and the positions of its entries.
    isReadOnly: () => false,
    summary: 'Exports a conversation in one of the formats of the transcript.',
    task: 'read transcript',
    query: z.object(threadQuery),
    mediaTypes: {
      'application/json': z.object({ format: threadQuery.format, messages: z.array(exportedMessage) }),
      'application/x-ndjson': z.string().describe('One message a line; for a client that accepts this type.'),
    },
    isUnmasked: true,
    refusals: unknownThread,
  }),
  import: defineOperation({
    id: 'importTranscript',
    method: 'POST',
    path: '/transcript',
    summary: 'Imports messages of one format into a conversation.',
    task: 'import',
    query: z.object(threadQuery),
    body: {
      schema: z.strictObject({ messages: z.array(z.unknown()).max(100_000) }),
      maxBytes: 64 * 1024 * 1024,
      maxDepth: 40,
    },
    answer: z.object({
      entries: z.int().describe('Entries of the messages, new or known.'),
      added: z.int().describe('Number of new entries.'),
      findings: z.array(z.object({ index: z.int().describe('Index of the message.'), message: z.string() })).readonly(),
    }),
    refusals: unknownThread,
  }),
  view: defineOperation({
    id: 'readView',
    method: 'GET',
    path: '/transcript/views/{view}',
    // The first view of a conversation creates the positions of its entries, as an export does.
    isReadOnly: () => false,
    summary: 'Shows one view of a conversation, as a swarm’s message store does.',
    task: 'read view',
    parameters: z.object({ view: z.enum(viewNames) }),
    query: z.object({
      thread: threadQuery.thread,
      agent_key: z
        .array(z.string())
        .optional()
        .describe('Key of the agent for its view; for a team, the key of each agent.'),
      types: z
        .string()
        .refine(text => text.split(',').every(isMessageType), `must be of ${messageTypeNames.join(', ')}`)
        .optional()
        .describe('Only messages of these types, with commas between them.'),
      limit: count.describe('Number of messages at most, from the beginning.'),
      tail: count.describe('Number of messages at most, from the end.'),
    }),
    answer: z.object({
      messages: z.array(exportedMessage).readonly(),
      complete: z
        .boolean()
        .optional()
        .describe('For the view of one agent: true if the agent has ended its last turn.'),
    }),
    refusals: unknownThread,
  }),
} as const

interface TranscriptRouteOptions {
  readonly store: Pick<OperatorStore, 'findMessage'> & Pick<GatewayStore, 'transcript'>
  readonly system: Pick<System, 'now' | 'randomBytes'>
  readonly channels: readonly Channel[]
}

interface ThreadRequest {
  /** A message of the conversation; with `owner`, the transport and key of the thread. */
  readonly thread: string
  readonly owner?: string | undefined
  /** True if a thread of this owner is created when there is none. */
  readonly mayCreate?: boolean
}

/** The maximum size of the part of a conversation that is read at once, bytes. */
const maxBytes = 64 * 1024 * 1024

const linesType = 'application/x-ndjson'

export function createTranscriptRoutes(options: TranscriptRouteOptions): readonly OperatorRoute[] {
  const { store, system } = options
  const { transcript } = store
  const framedTranscript = withTurnFrames(transcript, { max_bytes: maxBytes, is_whole: true })

  return [
    handleOperation(transcriptOperations.export, async ({ query, context }) => {
      const thread = await readThread(query, options)
      return streamMessages(context, query.format, exportThread(thread, query.format, { transcript }))
    }),
    handleOperation(transcriptOperations.import, async ({ query, body }) => {
      const thread = await readThread({ ...query, mayCreate: true }, options)
      return importThread(thread, query.format, body.messages, { transcript, system })
    }),
    handleOperation(transcriptOperations.view, async ({ parameters: { view }, query }) => {
      const viewOptions = readViewOptions(query)
      const thread = await readThread(query, options)
      const threadTranscript = { ...framedTranscript, findThread: async () => thread }
      const messages = createTranscriptMessageStore({ transcript: threadTranscript, system, owner: thread.owner })
      const pageMessages = await viewReaders[view](messages, thread.thread_id, viewOptions)
      const [agent_key] = viewOptions.agents
      const isAgentView = view === 'agent' && agent_key !== undefined
      return {
        messages: pageMessages.map(message => ({ ...message })),
        ...(isAgentView && { complete: await isComplete(messages, thread, agent_key) }),
      }
    }),
  ]
}

/** Streams messages as they are read, one per line or as one JSON text, so that they are never all in memory. */
function streamMessages(context: Context, format: string, pages: AsyncIterable<readonly object[]>): Response {
  const usesLines = context.req.header('accept')?.includes(linesType) === true
  const text = usesLines ? writeLines(pages) : writeJson(format, pages)
  const body = ReadableStream.from(encodeText(text))
  return new Response(body as BodyInit, { headers: { 'content-type': usesLines ? linesType : 'application/json' } })
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

/** Encodes text on demand. A `TextEncoderStream` would read ahead, even for a HEAD request. */
async function* encodeText(text: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const chunk of text) if (chunk !== '') yield encoder.encode(chunk)
}

/** Finds the thread of a request. @throws Rejection `no_recipient` if there is none */
async function readThread(request: ThreadRequest, options: TranscriptRouteOptions): Promise<ThreadKey> {
  const { thread, owner } = request
  const threadKey =
    owner === undefined
      ? await findMessageThread(thread, options.store)
      : await findOwnedThread({ ...request, owner: parseOwner(owner, options.channels) ?? owner }, options)
  return requireFound(threadKey, 'Cannot find thread: there is no conversation of this name')
}

/** Finds a thread by its owner, transport and key. */
async function findOwnedThread(
  { thread, owner, mayCreate }: ThreadRequest & { readonly owner: string },
  { store: { transcript }, channels }: TranscriptRouteOptions,
): Promise<ThreadKey | undefined> {
  const [, transport, key] = /^([a-z0-9]{1,20}):(.{1,1024})$/s.exec(thread) ?? []
  if (transport === undefined || key === undefined) return undefined
  const threadKey =
    (await findChannel(channels, transport)?.conversations?.findThread?.(owner, key)) ??
    (await transcript.findThread(owner, { transport, key }))
  return threadKey ?? (mayCreate ? transcript.openThread(owner, { transport, key }) : undefined)
}

/** The owner of threads that an operator opens for conversations of the store. */
const operatorOwner = 'operator'

/** Finds the conversation of a message, by the message’s number or id. */
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

type ViewQuery = OperationRequest<typeof transcriptOperations.view>['query']
type ViewName = OperationRequest<typeof transcriptOperations.view>['parameters']['view']

interface ViewOptions extends AgentViewOptions {
  readonly agents: readonly string[]
}

/** The number of last entries among which the end of a turn counts. */
const maxCompletionEntries = 10

type ReadView = (messages: MessageStore, location: string, options: ViewOptions) => Promise<readonly StoreMessage[]>

const viewReaders: Readonly<Record<ViewName, ReadView>> = {
  conversation: (messages, location, options) => messages.listConversation(location, options),
  agent(messages, location, { agents: [agent], ...options }) {
    if (agent === undefined) throw new Rejection('malformed', 'Cannot read view: agent_key is missing')
    return messages.listAgent(location, agent, options)
  },
  global: (messages, location, options) => messages.listGlobal(location, options),
  team: (messages, location, { agents, ...options }) => messages.listTeam(location, agents, options),
}

/** Returns true if the agent has ended its last turn, regardless of the part of the view that was requested. */
async function isComplete(messages: MessageStore, { thread_id }: ThreadKey, agent_key: string): Promise<boolean> {
  return isMessageTurnComplete(await messages.listAgent(thread_id, agent_key, { tail: maxCompletionEntries }), {
    agent_key,
  })
}

function readViewOptions({ agent_key, types, limit, tail }: ViewQuery): ViewOptions {
  return {
    agents: agent_key ?? [],
    limit,
    tail,
    ...(types !== undefined && { types: types.split(',').filter(isMessageType) }),
  }
}
