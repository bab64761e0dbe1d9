// Streams runs to a client that reconnects, and conversations to a client that follows them in another tab.

import { hash } from 'node:crypto'
import type { Event } from '@ag-ui/core'
import { EventType, PROTOCOL_VERSION } from '@ag-ui/core'
import { answerWithBody, sseHeaders } from '@postern/http'
import { Rejection, randomHex } from '@postern/message'
import type { TaskRecord } from '@postern/pipeline'
import type { ThreadKey } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { OwnerLimit, WebDeps } from '../endpoint.ts'
import { agentPaths, createOwnerLimit, readAddressedAgent, withErrorResponses } from '../endpoint.ts'
import type { EventSink } from '../events/sse.ts'
import { streamEvents } from '../events/sse.ts'
import { listOpenInterrupts } from '../requirements/interrupts.ts'
import { readRecentEntries } from '../resolve.ts'
import type { ConversationKey } from '../threads/own-threads.ts'
import { findWebConversation } from '../threads/web-threads.ts'
import { createFinalSnapshot } from './snapshots.ts'
import type { StartedRun } from './started-run.ts'
import type { RunReference } from './stream-run.ts'
import { endEventIdOf, playRun, remainingValidityMs, streamRun } from './stream-run.ts'

/** Creates the routes on which owners follow their runs and conversations. */
export function createFollowRoutes(deps: WebDeps): Hono {
  const acquireStream = createOwnerLimit(deps.config.limits.runs_per_owner, 'Cannot follow: too many streams are open')
  const routes = new Hono()
  for (const base of agentPaths) {
    routes.get(
      `${base}/runs/:run/events`,
      withErrorResponses(deps, c => answerRun(c, deps, acquireStream)),
    )
    routes.get(
      `${base}/threads/:thread/events`,
      withErrorResponses(deps, c => answerThread(c, deps, acquireStream)),
    )
  }
  return routes
}

/** Returns the topic of notices about the runs of a conversation. It is a hash, because a client may choose a thread name of any length. */
const topicOf = ({ owner, agent, threadId }: ConversationKey) =>
  `chat:${hash('sha256', JSON.stringify([owner.owner, agent, threadId]))}`

interface RunNotice {
  readonly run: string
  readonly message: number
}

/** Notifies the followers of a conversation that a run has begun. */
export function announceRun({ owner, agent, input }: RunReference, message: number, { gateway }: WebDeps): void {
  const { threadId, runId } = input
  gateway.store.notify(topicOf({ owner, agent, threadId }), { run: runId, message } satisfies RunNotice)
}

const openTaskStates: ReadonlySet<TaskRecord['state']> = new Set(['submitted', 'working'])

/**
 * Answers `GET …/runs/:run/events` with the conversation so far, followed by the events of the run from now on. A client whose `Last-Event-ID` is
 * that of the end gets 204.
 */
async function answerRun(c: Context, deps: WebDeps, acquireStream: OwnerLimit): Promise<Response> {
  const owner = await deps.verifyOwner(c.req.raw)
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const id = c.req.param('run') ?? ''
  const task = await deps.gateway.store.findTask({ owner: owner.owner, id })
  const message = task?.agent === agent ? await deps.gateway.store.findTaskMessage(task) : undefined
  if (!task || message === undefined) throw new Rejection('no_recipient', 'Cannot follow: there is no such run')
  const isOver = !openTaskStates.has(task.state)
  if (isOver && c.req.header('last-event-id') === endEventIdOf(id)) return new Response(null, { status: 204 })
  const releaseStream = acquireStream(owner.owner)
  try {
    const run = createRunReference({ owner, agent, threadId: task.context }, id)
    const snapshots = [await (isOver ? createFinalSnapshot(run, deps) : createOpenSnapshot(run, deps))]
    const startedRun = { ...createFollowedRun(run, message, deps), snapshots, isReported: isOver }
    return answerWithBody(c.env, streamRun({ request: run, startedRun, deps, release: releaseStream }), sseHeaders)
  } catch (error) {
    releaseStream()
    throw error
  }
}

function createRunReference({ owner, agent, threadId }: ConversationKey, runId: string): RunReference {
  const emptyInput = { messages: [], tools: [], context: [], state: {}, forwardedProps: {} }
  return { owner, agent, input: { threadId, runId, protocolVersion: PROTOCOL_VERSION, ...emptyInput } }
}

/** Returns the conversation without the answer of an open run so far, which the stream itself contains. */
async function createOpenSnapshot(run: RunReference, deps: WebDeps): Promise<readonly object[]> {
  const messages = await createFinalSnapshot(run, deps)
  return messages.filter(({ role, metadata }) => role === 'user' || metadata?.run_id !== run.input.runId)
}

function createFollowedRun(run: RunReference, message: number, deps: WebDeps): StartedRun {
  const owner = run.owner.owner
  return {
    watchedTurn: { message, task: { owner, id: run.input.runId } },
    warnings: [],
    snapshots: [],
    readMessages: () => createFinalSnapshot(run, deps),
    async readInterrupts() {
      const { recentEntries } = await readRecentEntries(run, deps)
      return listOpenInterrupts(recentEntries, { owner, isAnswered: true }, deps)
    },
    state: undefined,
    isAsking: false,
  }
}

/** Answers `GET …/threads/:thread/events` with each run of a conversation, one after another, and with its messages after any other change. */
async function answerThread(c: Context, deps: WebDeps, acquireStream: OwnerLimit): Promise<Response> {
  const owner = await deps.verifyOwner(c.req.raw)
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  const conversationKey: ConversationKey = { owner, agent, threadId: c.req.param('thread') ?? '' }
  const conversation = await findWebConversation(conversationKey, deps)
  if (!conversation) throw new Rejection('no_recipient', 'Cannot follow: there is no such thread')
  const releaseStream = acquireStream(owner.owner)
  const stream = streamEvents(
    sink => {
      const streamEnd = new AbortController()
      const signal = AbortSignal.any([streamEnd.signal, deps.shutdownSignal])
      const thread: FollowedThread = { conversationKey, key: conversation.thread, deps, sink, endSignal: signal }
      void followThread(thread)
        .catch(error => deps.gateway.system.log.warn({ err: error }, 'a conversation cannot be followed'))
        .then(sink.close)
      return () => {
        streamEnd.abort()
        releaseStream()
      }
    },
    remainingValidityMs(owner, deps),
  )
  return answerWithBody(c.env, stream, sseHeaders)
}

/** The time after which the conversation is read again, ms, because notices may be lost. */
const pollMs = 5_000
/** The longest stream of a conversation, ms. Then the client reconnects with a valid token. */
const maxFollowMs = 10 * 60_000

interface FollowedThread {
  readonly conversationKey: ConversationKey
  readonly key: ThreadKey
  readonly deps: WebDeps
  readonly sink: EventSink
  readonly endSignal: AbortSignal
}

async function followThread(thread: FollowedThread): Promise<void> {
  const { conversationKey, deps, sink, endSignal } = thread
  const { store, system } = deps.gateway
  const endsAt = system.now() + maxFollowMs
  const newRuns: RunNotice[] = []
  let wake: () => void = () => undefined
  const stopListening = store.listen(topicOf(conversationKey), notice => {
    newRuns.push(notice as RunNotice)
    wake()
  })
  endSignal.addEventListener('abort', stopListening)
  try {
    const openRun = await findOpenRun(conversationKey, deps)
    if (openRun) newRuns.unshift(openRun)
    else await sendMessages(thread)
    let lastRunId: string | undefined
    for (let sentSeq = await readLastSeq(thread); !endSignal.aborted && system.now() < endsAt; ) {
      const newRun = newRuns.shift()
      if (newRun && newRun.run !== lastRunId) await sendRun(newRun, thread)
      lastRunId = newRun?.run ?? lastRunId
      const lastSeq = await readLastSeq(thread)
      if (!newRun && lastSeq !== sentSeq) await sendMessages(thread)
      sentSeq = lastSeq
      if (newRuns.length > 0) continue
      sink.sendHeartbeat()
      const pauseEnd = new AbortController()
      wake = () => pauseEnd.abort()
      await system.sleep(pollMs, AbortSignal.any([endSignal, pauseEnd.signal]))
    }
  } finally {
    stopListening()
  }
}

/** Returns the number of the last message of a conversation, which shows whether there is a new one. */
async function readLastSeq({ key, deps }: FollowedThread): Promise<number> {
  const [lastEntry] = await deps.transcript.read(key, { chat: true, tail: 1 })
  return lastEntry?.seq ?? 0
}

async function findOpenRun({ owner, agent, threadId }: ConversationKey, deps: WebDeps): Promise<RunNotice | undefined> {
  for (const state of openTaskStates) {
    const filter = { owner: owner.owner, agent, context: threadId, state, limit: 1 }
    const [task] = (await deps.gateway.store.listTasks(filter)).tasks
    const message = task && (await deps.gateway.store.findTaskMessage(task))
    if (task && message !== undefined) return { run: task.id, message }
  }
  return undefined
}

/** Sends the messages as a run without a turn, because AG-UI has messages only within runs. */
async function sendMessages({ conversationKey, deps, sink }: FollowedThread): Promise<void> {
  const { system } = deps.gateway
  const run = createRunReference(conversationKey, `follow-${randomHex(system, 8)}`)
  const messages = await createFinalSnapshot(run, deps)
  const { threadId, runId } = run.input
  const send = (event: object) => sink.send({ ...event, timestamp: Math.trunc(system.now()) } as Event)
  send({ type: EventType.RUN_STARTED, threadId, runId, protocolVersion: PROTOCOL_VERSION })
  send({ type: EventType.MESSAGES_SNAPSHOT, messages })
  send({ type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: 'success' } })
}

/** Streams a run. It follows the run at once, so that no piece is missed, and sends the conversation before the pieces. */
async function sendRun(
  { run: id, message }: RunNotice,
  { conversationKey, deps, sink, endSignal }: FollowedThread,
): Promise<void> {
  const run = createRunReference(conversationKey, id)
  const pendingEvents: [event: Event, id: string | undefined][] = []
  let isBuffering = true
  const runEnd = Promise.withResolvers<void>()
  const bufferedSink: EventSink = {
    ...sink,
    send: (event, id) => void (isBuffering ? pendingEvents.push([event, id]) : sink.send(event, id)),
    close: () => runEnd.resolve(),
  }
  const startedRun = createFollowedRun(run, message, deps)
  const stop = playRun({ request: run, startedRun, deps, sink: bufferedSink })
  endSignal.addEventListener('abort', bufferedSink.close)
  try {
    const messages = await createOpenSnapshot(run, deps)
    const snapshot = { type: EventType.MESSAGES_SNAPSHOT, messages, timestamp: Math.trunc(deps.gateway.system.now()) }
    const [startEvent, ...remainingEvents] = pendingEvents
    isBuffering = false
    const startEvents = startEvent ? [startEvent] : []
    const orderedEvents = [...startEvents, [snapshot as Event, undefined] as const, ...remainingEvents]
    for (const [event, id] of orderedEvents) sink.send(event, id)
    await runEnd.promise
  } finally {
    stop()
    endSignal.removeEventListener('abort', bufferedSink.close)
  }
}
