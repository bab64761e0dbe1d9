// Streams runs to a client that reconnects, and conversations to a client that follows them in another tab.
import { hash } from 'node:crypto'
import type { Event } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import { sseHeaders } from '@postern/http'
import { Rejection, randomHex } from '@postern/message'
import type { TaskRecord } from '@postern/pipeline'
import type { ThreadKey } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { OpenRuns, WebDeps } from '../endpoint.ts'
import { answerFaults, createOpenRuns, readAddressedAgent } from '../endpoint.ts'
import type { EventSink } from '../events/sse.ts'
import { streamEvents } from '../events/sse.ts'
import { listOpenInterrupts } from '../requirements/interrupts.ts'
import { readRecent } from '../resolve.ts'
import { findWebConversation } from '../threads/web-threads.ts'
import type { WebOwner } from '../verify.ts'
import { takeFinalSnapshot } from './snapshots.ts'
import type { StartedRun } from './started-run.ts'
import type { ShownRun } from './stream-run.ts'
import { endOf, playRun, streamRun, untilEnd } from './stream-run.ts'

/** Creates the routes on which owners follow their runs and conversations. */
export function createFollowRoutes(deps: WebDeps): Hono {
  const open = createOpenRuns(deps.config.limits.runs_per_owner, 'Cannot follow: too many streams are open')
  const routes = new Hono()
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.get(
      `${base}/runs/:run/events`,
      answerFaults(deps, c => answerRun(c, deps, open)),
    )
    routes.get(
      `${base}/threads/:thread/events`,
      answerFaults(deps, c => answerThread(c, deps, open)),
    )
  }
  return routes
}

interface ConversationKey {
  readonly owner: WebOwner
  readonly agent: string
  readonly threadId: string
}

/** Returns the topic of notices about the runs of a conversation. It is a hash, because a client may choose a thread name of any length. */
const topicOf = ({ owner, agent, threadId }: ConversationKey) =>
  `chat:${hash('sha256', JSON.stringify([owner.owner, agent, threadId]))}`

interface RunNotice {
  readonly run: string
  readonly message: number
}

/** Notifies the followers of a conversation that a run has begun. */
export function announceRun({ owner, agent, input }: ShownRun, message: number, { gateway }: WebDeps): void {
  const { threadId, runId } = input
  gateway.store.notify(topicOf({ owner, agent, threadId }), { run: runId, message } satisfies RunNotice)
}

const openStates: ReadonlySet<TaskRecord['state']> = new Set(['submitted', 'working'])

/**
 * Answers `GET …/runs/:run/events` with the conversation so far, followed by the events of the run from now on. A client whose `Last-Event-ID` is
 * that of the end gets 204.
 */
async function answerRun(c: Context, deps: WebDeps, open: OpenRuns): Promise<Response> {
  const owner = await deps.verifyOwner(c.req.raw)
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const id = c.req.param('run') ?? ''
  const task = await deps.gateway.store.findTask({ owner: owner.owner, id })
  const message = task?.agent === agent ? await deps.gateway.store.findTaskMessage(task) : undefined
  if (!task || message === undefined) throw new Rejection('no_recipient', 'Cannot follow: there is no such run')
  const isOver = !openStates.has(task.state)
  if (isOver && c.req.header('last-event-id') === endOf(id)) return new Response(null, { status: 204 })
  const leave = open(owner.owner)
  try {
    const run = showRun({ owner, agent, threadId: task.context }, id)
    const snapshots = [await takeSnapshot(run, isOver, deps)]
    const started = { ...beginAgain(run, message, deps), snapshots, isTold: isOver }
    return new Response(streamRun(run, started, deps, leave), { headers: sseHeaders })
  } catch (error) {
    leave()
    throw error
  }
}

function showRun({ owner, agent, threadId }: ConversationKey, runId: string): ShownRun {
  const nothing = { messages: [], tools: [], context: [], state: {}, forwardedProps: {} }
  return { owner, agent, input: { threadId, runId, protocolVersion: PROTOCOL_VERSION, ...nothing } }
}

/** Returns the conversation. It leaves out the answer of an open run so far, which the stream itself contains. */
async function takeSnapshot(run: ShownRun, isOver: boolean, deps: WebDeps): Promise<readonly object[]> {
  const messages = await takeFinalSnapshot(run, deps)
  if (isOver) return messages
  return messages.filter(({ role, metadata }) => role === 'user' || metadata?.run_id !== run.input.runId)
}

function beginAgain(run: ShownRun, message: number, deps: WebDeps): StartedRun {
  const owner = run.owner.owner
  return {
    watched: { message, task: { owner, id: run.input.runId } },
    warnings: [],
    snapshots: [],
    readMessages: () => takeFinalSnapshot(run, deps),
    async listOpen() {
      const { recent } = await readRecent(run, deps)
      return listOpenInterrupts(recent, { owner, isAnswered: true }, deps)
    },
    state: undefined,
    isAsking: false,
  }
}

/** Answers `GET …/threads/:thread/events` with each run of a conversation, one after another, and with its messages after any other change. */
async function answerThread(c: Context, deps: WebDeps, open: OpenRuns): Promise<Response> {
  const owner = await deps.verifyOwner(c.req.raw)
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const conversationKey: ConversationKey = { owner, agent, threadId: c.req.param('thread') ?? '' }
  const conversation = await findWebConversation(conversationKey, deps)
  if (!conversation) throw new Rejection('no_recipient', 'Cannot follow: there is no such thread')
  const leave = open(owner.owner)
  const stream = streamEvents(
    sink => {
      const closing = new AbortController()
      const signal = AbortSignal.any([closing.signal, deps.leaving])
      const thread: FollowedThread = { conversationKey, key: conversation.thread, deps, sink, closing: signal }
      void followThread(thread)
        .catch(error => deps.gateway.system.log.warn({ err: error }, 'a conversation cannot be followed'))
        .then(sink.close)
      return () => {
        closing.abort()
        leave()
      }
    },
    untilEnd(owner, deps),
  )
  return new Response(stream, { headers: sseHeaders })
}

/** The time after which the conversation is read again, ms, because notices may be lost. */
const pollMs = 5_000
/** The longest stream of a conversation, ms. Then the client reconnects with a valid token. */
const longestMs = 10 * 60_000

interface FollowedThread {
  readonly conversationKey: ConversationKey
  readonly key: ThreadKey
  readonly deps: WebDeps
  readonly sink: EventSink
  readonly closing: AbortSignal
}

async function followThread(thread: FollowedThread): Promise<void> {
  const { conversationKey, deps, sink, closing } = thread
  const { store, system } = deps.gateway
  const until = system.now() + longestMs
  const begun: RunNotice[] = []
  let wake: () => void = () => undefined
  const unlisten = store.listen(topicOf(conversationKey), notice => {
    begun.push(notice as RunNotice)
    wake()
  })
  closing.addEventListener('abort', unlisten)
  try {
    const open = await findOpenRun(conversationKey, deps)
    if (open) begun.unshift(open)
    else await tellMessages(thread)
    let told: string | undefined
    for (let seen = await readMark(thread); !closing.aborted && system.now() < until; ) {
      const next = begun.shift()
      if (next && next.run !== told) await tellRun(next, thread)
      told = next?.run ?? told
      const mark = await readMark(thread)
      if (!next && mark !== seen) await tellMessages(thread)
      seen = mark
      if (begun.length > 0) continue
      sink.beat()
      const waiting = new AbortController()
      wake = () => waiting.abort()
      await system.sleep(pollMs, AbortSignal.any([closing, waiting.signal]))
    }
  } finally {
    unlisten()
  }
}

/** Returns the number of the last message of a conversation, which shows whether there is a new one. */
async function readMark({ key, deps }: FollowedThread): Promise<number> {
  const [last] = await deps.transcript.read(key, { chat: true, tail: 1 })
  return last?.seq ?? 0
}

async function findOpenRun({ owner, agent, threadId }: ConversationKey, deps: WebDeps): Promise<RunNotice | undefined> {
  for (const state of openStates) {
    const filter = { owner: owner.owner, agent, context: threadId, state, limit: 1 }
    const [task] = (await deps.gateway.store.listTasks(filter)).tasks
    const message = task && (await deps.gateway.store.findTaskMessage(task))
    if (task && message !== undefined) return { run: task.id, message }
  }
  return undefined
}

/** Sends the messages as a run without a turn, because AG-UI has messages only within runs. */
async function tellMessages({ conversationKey, deps, sink }: FollowedThread): Promise<void> {
  const { system } = deps.gateway
  const run = showRun(conversationKey, `follow-${randomHex(system, 8)}`)
  const messages = await takeFinalSnapshot(run, deps)
  const { threadId, runId } = run.input
  const send = (event: object) => sink.send({ ...event, timestamp: Math.trunc(system.now()) } as Event)
  send({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION })
  send({ type: EventType.MESSAGES_SNAPSHOT, messages })
  send({ type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'success' } })
}

/** Streams a run. It follows the run at once, so that no piece is missed, and sends the conversation before the pieces. */
async function tellRun(
  { run: id, message }: RunNotice,
  { conversationKey, deps, sink, closing }: FollowedThread,
): Promise<void> {
  const run = showRun(conversationKey, id)
  const waiting: [event: Event, id: string | undefined][] = []
  let isHeld = true
  const ended = Promise.withResolvers<void>()
  const held: EventSink = {
    ...sink,
    send: (event, id) => void (isHeld ? waiting.push([event, id]) : sink.send(event, id)),
    close: () => ended.resolve(),
  }
  const stop = playRun(run, beginAgain(run, message, deps), deps, held)
  closing.addEventListener('abort', held.close)
  try {
    const messages = await takeSnapshot(run, false, deps)
    const snapshot = { type: EventType.MESSAGES_SNAPSHOT, messages, timestamp: Math.trunc(deps.gateway.system.now()) }
    const [first, ...others] = waiting
    isHeld = false
    const all = [...(first ? [first] : []), [snapshot as Event, undefined] as const, ...others]
    for (const [event, id] of all) sink.send(event, id)
    await ended.promise
  } finally {
    stop()
    closing.removeEventListener('abort', held.close)
  }
}
