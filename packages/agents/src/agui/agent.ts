import { createHash } from 'node:crypto'
import type {
  Agent,
  AgentChunk,
  AgentContext,
  HistoricalMessage,
  Json,
  NormalizedMessage,
  OpenStream,
  Part,
  PartialResponse,
  StreamAnswer,
} from '@postern/core'
import { isFilePart, isJsonObject, plainTextOf, Unavailable } from '@postern/core'
import { parseMediaType } from '@postern/http'
import type { z } from 'zod'
import { readEventData } from '../completion/event-data.ts'
import { checkPassingStatus } from '../kind/passing-status.ts'
import type { aguiAgentSchema } from './config.ts'
import { RunProgress, readEvent } from './events.ts'

/** Bytes of one run's events at most. */
const maxRunBytes = 16 * 1024 * 1024
/** Characters of a state, as JSON, that is kept for the next run. */
const maxState = 128 * 1024

interface AguiServer {
  readonly agent: string
  readonly config: z.output<typeof aguiAgentSchema>
  /** For the beginning of an answer, and for a pause in it, ms. */
  readonly timeoutMs: number
  readonly openStream: OpenStream
  now(): number
}

/** An agent that runs at an AG-UI server. */
export function createAguiAgent(server: AguiServer): Agent {
  return { handle: (message, context) => converse(server, message, context) }
}

async function* converse(
  server: AguiServer,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, void, undefined> {
  const kept = ((await context.state.get()) ?? {}) as KeptRun
  const run = new RunProgress(kept.state)
  yield* readRun(await postRun(server, message, { context, kept }), run)
  if (!run.interrupts) throw new Unavailable('The AG-UI server broke off in the middle of its run')
  yield* endAnswer(run, run.interrupts)
  context.state.set(keepRun(run, context))
}

/** @throws Unavailable for failures that pass @throws Error for everything else */
async function postRun(
  { agent, config, openStream, timeoutMs, now }: AguiServer,
  message: NormalizedMessage,
  { context, kept }: { readonly context: AgentContext; readonly kept: KeptRun },
): Promise<StreamAnswer['body']> {
  const { keeps_history: isKeptThere, forwarded_props, api_key } = config
  const forwardedProps = forwarded_props as { readonly [name: string]: Json }
  const answer = await openStream(config.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }),
    },
    body: JSON.stringify(describeRunInput({ agent, message, context, kept, isKeptThere, forwardedProps })),
    signal: context.signal,
    timeoutMs,
    idleMs: timeoutMs,
    maxBytes: maxRunBytes,
  })
  checkPassingStatus('AG-UI server', answer, now())
  if (answer.status !== 200) throw new Error(`The AG-UI server answered ${answer.status}; check "url" and "api_key"`)
  const { type } = parseMediaType(answer.headers.get('content-type')) ?? {}
  if (type !== 'text/event-stream') throw new Error('The AG-UI server answered with no event stream; check "url"')
  return answer.body
}

async function* readRun(body: StreamAnswer['body'], run: RunProgress): AsyncGenerator<AgentChunk, void, undefined> {
  for await (const data of readEventData(body)) {
    yield* readEvent(data, run)
    if (run.interrupts) return
  }
}

/** A server that streams no text tells its answer in a snapshot; one that waits for somebody asks. */
function* endAnswer(run: RunProgress, interrupts: NonNullable<RunProgress['interrupts']>): Generator<AgentChunk> {
  if (run.length === 0 && run.snapshot !== '') yield run.snapshot
  const isShown = isJsonObject(run.state) && Object.keys(run.state).length > 0
  if (isShown) yield { chat_state: run.state as PartialResponse['chat_state'] }
  const questions = interrupts.flatMap(({ message, reason }) => message || reason || [])
  const content = questions.join('\n\n') || 'The agent waits for your answer.'
  if (interrupts.length > 0) {
    yield { status: 'input_required', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
  }
}

function keepRun(
  { state, interrupts: given = [] }: RunProgress,
  { log }: Pick<AgentContext, 'log'>,
): { [name: string]: Json } {
  const isKept = state !== undefined && JSON.stringify(state).length <= maxState
  if (state !== undefined && !isKept) log.warn({ most: maxState }, 'the state of an AG-UI server is too large to keep')
  const interrupts = given.map(({ id }) => id)
  return { ...(isKept && { state }), ...(interrupts.length > 0 && { interrupts }) }
}

/** What is kept of a conversation for the next run. */
interface KeptRun {
  /** The server's state, as it said last. */
  readonly state?: Json | undefined
  /** Ids of the interrupts that the next message answers. */
  readonly interrupts?: readonly string[] | undefined
}

interface RunRequest {
  readonly agent: string
  readonly message: NormalizedMessage
  readonly context: Pick<AgentContext, 'correlationId' | 'flags' | 'history'>
  readonly kept: KeptRun
  /** The server has the conversation by its thread id: only what is new is sent. */
  readonly isKeptThere: boolean
  readonly forwardedProps: { readonly [name: string]: Json }
}

/** The body of a run (AG-UI 1.0, RunAgentInput; servers of 0.1 take it, too). */
function describeRunInput({ agent, message, context, kept, isKeptThere, forwardedProps }: RunRequest): object {
  const { interrupts = [], state = {} } = kept
  const past = isKeptThere ? [] : context.history().turns.flatMap(writeTurn)
  const words = writeParts(message.parts)
  // The answer to a question of the server goes to the question.
  const isResuming = interrupts.length > 0
  return {
    threadId: toUuid([agent, message.received_via, message.thread_id]),
    runId: toUuid([agent, context.correlationId, message.id]),
    state,
    messages: isResuming ? past : [...past, { id: toUuid([message.id]), role: 'user', content: words }],
    tools: [],
    context: describeSender(message, context),
    forwardedProps,
    ...(isResuming && { resume: interrupts.map(interruptId => ({ interruptId, status: 'resolved', payload: words })) }),
  }
}

/** Ids of peers may tell who they are, and some servers take nothing but UUIDs. */
function toUuid(words: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(words)).digest('hex')
  const pieces = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`]
  return [...pieces, digest.slice(20, 32)].join('-')
}

function writeTurn({ id, role, parts, timestamp, sender }: HistoricalMessage): readonly object[] {
  const content = writeParts(parts)
  return content === '' ? [] : [{ id: toUuid([id ?? '', timestamp, sender.address]), role, content }]
}

/** Text and links; files by their names. */
function writeParts(parts: readonly Part[]): string {
  const files = parts.flatMap(part =>
    isFilePart(part) ? [`[${part.name ?? 'a file'}, ${part.mime ?? 'unknown type'}]`] : [],
  )
  return [plainTextOf(parts), ...files].filter(Boolean).join('\n\n')
}

/** Who writes, and how that is proven: data for the agent, never words of the sender. */
function describeSender({ sender, received_via }: NormalizedMessage, { flags = [] }: Pick<AgentContext, 'flags'>) {
  const { address, verified, auth_method } = sender
  const value = JSON.stringify({ address, verified, auth_method, received_via, flags })
  return [{ description: 'The sender of the last message, and how the gateway has proven them', value }]
}
