import type {
  Agent,
  AgentChunk,
  AgentContext,
  Json,
  NormalizedMessage,
  OpenStream,
  PartialResponse,
  StreamAnswer,
} from '@postern/core'
import { Unavailable } from '@postern/core'
import { parseMediaType } from '@postern/http'
import type { z } from 'zod'
import { readEventData } from '../completion/event-data.ts'
import { checkPassingStatus } from '../kind/passing-status.ts'
import type { aguiAgentSchema } from './config.ts'
import type { RunProgress } from './events.ts'
import { createProgress, readEvent } from './events.ts'
import type { KeptRun } from './input.ts'
import { describeRunInput } from './input.ts'

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
  const run = createProgress(kept.state)
  yield* readRun(await postRun(server, message, { context, kept }), run)
  if (!run.end) throw new Unavailable('The AG-UI server broke off in the middle of its run')
  yield* endAnswer(run, run.end.interrupts)
  context.state.set(keepRun(run, context))
}

interface RunContext {
  readonly context: AgentContext
  readonly kept: KeptRun
}

/** @throws Unavailable for failures that pass @throws Error for everything else */
async function postRun(
  { agent, config, openStream, timeoutMs, now }: AguiServer,
  message: NormalizedMessage,
  { context, kept }: RunContext,
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
    if (run.end) return
  }
}

/** A server that streams no text tells its answer in a snapshot; one that waits for somebody asks. */
function* endAnswer(
  run: RunProgress,
  interrupts: NonNullable<RunProgress['end']>['interrupts'],
): Generator<AgentChunk> {
  if (run.length === 0 && run.snapshot !== '') yield run.snapshot
  if (isRecord(run.state)) yield { chat_state: run.state as PartialResponse['chat_state'] }
  const questions = interrupts.flatMap(({ message, reason }) => message || reason || [])
  const content = questions.join('\n\n') || 'The agent waits for your answer.'
  if (interrupts.length > 0) {
    yield { status: 'input_required', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
  }
}

const isRecord = (value: Json | undefined): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0

function keepRun({ state, end }: RunProgress, { log }: Pick<AgentContext, 'log'>): { [name: string]: Json } {
  const isKept = state !== undefined && JSON.stringify(state).length <= maxState
  if (state !== undefined && !isKept) log.warn({ most: maxState }, 'the state of an AG-UI server is too large to keep')
  const interrupts = end?.interrupts.map(({ id }) => id) ?? []
  return { ...(isKept && { state }), ...(interrupts.length > 0 && { interrupts }) }
}
