// Starts and cancels the runs by which people talk to agents.

import type { ToolMessage } from '@ag-ui/core'
import { answerWithBody, peerAddress, problemStatusOf, sseHeaders } from '@postern/http'
import { readClaimedSubject, recordCallerProof } from '@postern/http/tokens'
import type { Json } from '@postern/message'
import { Rejection } from '@postern/message'
import type { AdmitResult, Inbound, IntakeSteps, RefusalContext } from '@postern/pipeline'
import { createIntakeSteps, hasRefusal, receive, recordRefusal } from '@postern/pipeline'
import type { AguiPart, TranscriptEntry } from '@postern/transcript'
import { readAguiParts } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { OwnerLimit, WebDeps } from '../endpoint.ts'
import {
  acceptsStream,
  agentPaths,
  createOwnerLimit,
  RepeatedRun,
  readAddressedAgent,
  readJson,
  withErrorResponses,
} from '../endpoint.ts'
import type { ChatState } from '../events/chat-state.ts'
import { isRequirement } from '../history/show-history.ts'
import { countFiles, joinContent, readContentParts } from '../input/content-parts.ts'
import type { RunContent } from '../input/file-parts.ts'
import { emptyContent } from '../input/file-parts.ts'
import type { RunNews } from '../input/reconcile-run.ts'
import { readRunInput } from '../input/run-input.ts'
import type { ProvenRun, RunRecord } from '../normalize.ts'
import { normalizeRun, recordRun } from '../normalize.ts'
import { closeQuestion } from '../requirements/closed-questions.ts'
import { listOpenInterrupts } from '../requirements/interrupts.ts'
import type { RequestedRun, ResolvedRun } from '../resolve.ts'
import { resolveRun } from '../resolve.ts'
import type { Conversation } from '../threads/own-threads.ts'
import { openWebThread } from '../threads/web-threads.ts'
import { proofOf } from '../verify.ts'
import { announceRun } from './follow.ts'
import type { WatchedTurn } from './follow-turn.ts'
import type { DecidedInterrupts } from './resume.ts'
import { decideInterrupts, noDecisions } from './resume.ts'
import { createFinalSnapshot, createSnapshots } from './snapshots.ts'
import type { StartedRun } from './started-run.ts'
import { streamRun } from './stream-run.ts'

/** Starts and cancels runs (AG-UI 1.0). */
export function createRunRoutes(deps: WebDeps): Hono {
  const acquireRun = createOwnerLimit(deps.config.limits.runs_per_owner)
  const routes = new Hono()
  const run = withErrorResponses(deps, c => handleRun(c, deps, acquireRun))
  const cancel = withErrorResponses(deps, c => handleCancel(c, deps))
  for (const base of agentPaths) {
    routes.post(`${base}/runs`, run)
    routes.post(`${base}/runs/:run/cancel`, cancel)
  }
  return routes
}

/** Answers a request for a run. Refusals are recorded for the operator's list. */
async function handleRun(context: Context, deps: WebDeps, acquireRun: OwnerLimit): Promise<Response> {
  const steps = createIntakeSteps(deps.gateway.system)
  try {
    return await openRun(context, { deps, acquireRun, steps })
  } catch (error) {
    const refusalContext = createRefusalContext(context, steps)
    if (!(error instanceof RepeatedRun) && !hasRefusal(context.req.raw))
      recordRefusal(error, 'web', { ...deps.gateway, ...refusalContext })
    throw error
  }
}

async function openRun(
  context: Context,
  { deps, acquireRun, steps }: { readonly deps: WebDeps; readonly acquireRun: OwnerLimit; readonly steps: IntakeSteps },
): Promise<Response> {
  const subject = readClaimedSubject(context.req.raw.headers)
  steps.recordClaims({ agent: context.req.param('agent'), ...(subject !== undefined && { claimed_sender: subject }) })
  const startedAt = steps.now()
  const owner = await deps.verifyOwner(context.req.raw)
  recordCallerProof(steps, startedAt, { proof: proofOf(owner), usedKey: owner.usedKey })
  steps.recordClaims({ claimed_sender: owner.address })
  const agent = readAddressedAgent(context.req.param('agent'), deps)
  if (!acceptsStream(context.req.header('accept'))) return new Response(null, { status: 406 })
  // The run is counted before its body is read, because many slow senders would fill the memory.
  const releaseRun = acquireRun(owner.owner)
  try {
    const document = await readJson(context, deps, 'run')
    const { input, warnings } = await readRunInput(document)
    steps.recordClaims({ agent, peer_id: input.runId })
    const request: RequestedRun = {
      owner,
      agent,
      input,
      document,
      steps,
      context: createRefusalContext(context, steps),
    }
    const startedRun = await startRun(request, deps)
    if (startedRun.watchedTurn) announceRun(request, startedRun.watchedTurn.message, deps)
    const allWarnings = [...warnings, ...startedRun.warnings]
    const stream = streamRun({
      request,
      startedRun: { ...startedRun, warnings: allWarnings },
      deps,
      release: releaseRun,
    })
    return answerWithBody(context.env, stream, sseHeaders)
  } catch (error) {
    releaseRun()
    throw error
  }
}

function createRefusalContext(context: Context, steps: IntakeSteps): RefusalContext {
  const endpoint = 'POST /api/v1/agent/runs'
  return {
    from: peerAddress(context.env),
    endpoint,
    statusOf: problemStatusOf,
    request: context.req.raw,
    ...steps.claims(),
  }
}

/** Cancels a run, which ends as canceled. The gateway drops a later answer. */
async function handleCancel(context: Context, { verifyOwner, gateway }: WebDeps): Promise<Response> {
  const { owner } = await verifyOwner(context.req.raw, 'cancel')
  const key = { owner, id: context.req.param('run') ?? '' }
  if (!(await gateway.store.findTask(key))) throw new Rejection('no_recipient', 'Cannot cancel: there is no such run')
  return context.json({ cancelled: await gateway.store.cancelTask(key) })
}

/**
 * Compares a run with the stored conversation, and makes its new content durable.
 * @throws Rejection, Unavailable, RepeatedRun
 */
async function startRun(request: RequestedRun, deps: WebDeps): Promise<StartedRun> {
  const resolvedRun = await resolveRun(request, deps)
  const { conversation, entries, news } = resolvedRun
  const decidedInterrupts =
    news.resume.length > 0
      ? await decideInterrupts(news.resume, request, { deps, recentEntries: entries })
      : noDecisions
  const closedQuestion = await resolveClosedQuestion(decidedInterrupts.closedQuestion, request, deps)
  const isDeciding = decidedInterrupts.watchedTurn !== undefined || closedQuestion !== undefined
  const snapshotContent = {
    recentEntries: resolvedRun.recentEntries,
    userMessages: isDeciding ? [] : news.userMessages,
    isJoined: conversation?.joined !== undefined,
  }
  const snapshots = await createSnapshots(request, snapshotContent, deps)
  const state = await findChatState(entries, deps)
  const start = describeStart({ ...resolvedRun, request, decidedInterrupts, isDeciding, snapshots, state }, deps)
  if (decidedInterrupts.watchedTurn) return { ...start, watchedTurn: decidedInterrupts.watchedTurn }
  const admittedNews: RunNews = isDeciding ? { ...news, userMessages: [], toolResults: [] } : news
  const answers = isDeciding ? [] : decidedInterrupts.answers
  const content = await readNews(admittedNews, answers, request, deps)
  const warnings = [...start.warnings, ...content.warnings]
  if (content.parts.length === 0 && closedQuestion === undefined)
    return { ...start, warnings, watchedTurn: decidedInterrupts.followingTurn }
  const addedUsage = { threads: conversation ? 0 : 1, entries: 1, bytes: 1 }
  await deps.transcript.checkQuota(request.owner.owner, addedUsage, deps.quota)
  const record: RunRecord = {
    request,
    news: admittedNews,
    answers: decidedInterrupts.answers,
    closedQuestion,
    content,
    joined: conversation?.joined,
  }
  const watchedTurn = await (closedQuestion === undefined
    ? admitRun(record, deps)
    : admitClosing(record, closedQuestion, deps))
  if (!watchedTurn) return { ...start, warnings: [...warnings, alreadyClosedWarning], watchedTurn }
  if (!conversation) openChatThread(request, deps)
  return { ...start, warnings, watchedTurn }
}

interface RunDecisions extends ResolvedRun {
  readonly request: RequestedRun
  readonly decidedInterrupts: DecidedInterrupts
  /** True if the run decides something, so that its other content does not count. */
  readonly isDeciding: boolean
  readonly snapshots: StartedRun['snapshots']
  readonly state: StartedRun['state']
}

/** Describes what the client sees first, before the new content of the run is stored. */
function describeStart(
  { request, recentEntries, news, decidedInterrupts, isDeciding, snapshots, state }: RunDecisions,
  deps: WebDeps,
): Omit<StartedRun, 'watchedTurn'> {
  const { owner } = request.owner
  const isAnswered = news.userMessages.length > 0 || decidedInterrupts.answers.length > 0
  const ignoredWarnings = isDeciding && isAnswered ? ['messages sent together with a decision were ignored'] : []
  return {
    readInterrupts: async () =>
      recentEntries.length > 0 ? listOpenInterrupts(recentEntries, { owner, isAnswered }, deps) : [],
    readMessages: () => createFinalSnapshot(request, deps),
    snapshots,
    state,
    warnings: [...news.warnings, ...decidedInterrupts.warnings, ...ignoredWarnings],
    isAsking: decidedInterrupts.isAsking,
  }
}

/**
 * Returns the question if the agent receives cancellations, so that a message can carry the closing. Otherwise closes the question at once and
 * returns undefined.
 */
async function resolveClosedQuestion(
  closedQuestion: string | undefined,
  { agent, owner }: RequestedRun,
  { gateway, records }: WebDeps,
): Promise<string | undefined> {
  if (closedQuestion === undefined || gateway.agents.find(agent)?.hearsCancels) return closedQuestion
  await closeQuestion(records, owner.owner, closedQuestion)
  return undefined
}

const alreadyClosedWarning = 'the agent knows already that this question is closed'

/**
 * Sends the agent the closing of a question before the question counts as closed. After a crash in between, the person can close it again.
 * Returns undefined if another run has already sent the closing.
 */
async function admitClosing(
  record: RunRecord,
  closedQuestion: string,
  deps: WebDeps,
): Promise<WatchedTurn | undefined> {
  const { owner, input } = record.request
  const isSameRun = async () =>
    (await deps.gateway.store.findTask({ owner: owner.owner, id: input.runId })) !== undefined
  const watchedTurn = await admitRun(record, deps).catch(async (error: unknown) => {
    if (!(error instanceof RepeatedRun) || (await isSameRun())) throw error
    return undefined
  })
  await closeQuestion(deps.records, owner.owner, closedQuestion)
  return watchedTurn
}

/** Opens the thread of a chat with its first message. The run does not wait for this, because a late follower misses pieces of the stream. */
function openChatThread({ owner, agent, input: { threadId } }: RequestedRun, deps: WebDeps): void {
  openWebThread({ owner: owner.owner, agent, threadId }, deps).catch(error => {
    deps.gateway.system.log.warn({ err: error }, 'a new chat is not counted until it is read')
  })
}

async function findChatState(
  entries: readonly TranscriptEntry[],
  { gateway: { store } }: WebDeps,
): Promise<ChatState | undefined> {
  const isAnswer = (entry: TranscriptEntry) =>
    (entry.role === 'assistant' && !entry.is_incomplete) || isRequirement(entry)
  const lastAnswer = entries.findLast(entry => isAnswer(entry) && entry.native_id !== undefined)
  const response = lastAnswer?.native_id === undefined ? undefined : await store.findResponse(lastAnswer.native_id)
  return response?.response.chat_state
}

/**
 * Reads the new messages and results of a run in the form that the agent gets.
 * @throws Rejection too_large, unsupported
 */
export async function readNews(
  { userMessages, toolResults }: Pick<RunNews, 'userMessages' | 'toolResults'>,
  answers: readonly string[],
  { owner, input }: Pick<RequestedRun, 'input'> & { readonly owner: Pick<RequestedRun['owner'], 'owner'> },
  { attachments, config }: Pick<WebDeps, 'attachments' | 'config'>,
): Promise<RunContent> {
  const context = { owner: owner.owner, threadId: input.threadId, runId: input.runId }
  const maxFiles = config.limits.files_per_run
  if (countFiles(userMessages.map(({ content }) => content)) > maxFiles) {
    throw new Rejection('too_large', `Cannot run: more than ${maxFiles} files`)
  }
  const contents: RunContent[] = []
  for (const { content } of userMessages) contents.push(await readContentParts(content, context, attachments))
  const resultParts = toolResults.map(({ call, content, error }) => ({
    kind: 'tool_call' as const,
    id: call.call_id,
    name: call.name ?? '',
    args: call.args ?? {},
    ...(error === undefined ? { result: readToolContent(content) } : { error: { message: error } }),
  }))
  const answerParts = answers.map(content => ({ kind: 'text' as const, mime: 'text/plain' as const, content }))
  const verbatimTexts = toolResults.flatMap(({ content }) => listTexts(content))
  return joinContent([
    { ...emptyContent, parts: [...resultParts, ...answerParts], verbatimTexts: verbatimTexts },
    ...contents,
  ])
}

function listTexts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : []
}

/** Converts files that a client's tool returned to parts that agents know. Content that only the client understands stays unchanged. */
function readToolContent(content: ToolMessage['content']): unknown {
  if (typeof content === 'string') return content
  const parts = readAguiParts(content as readonly AguiPart[])
  return parts.length === content.length ? { parts } : content
}

/**
 * Makes a person's message durable.
 * @throws Rejection, Unavailable, RepeatedRun
 */
async function admitRun(record: RunRecord, deps: WebDeps): Promise<WatchedTurn> {
  const { request, news, closedQuestion, content, joined } = record
  const { owner, agent, input, document, context: reception, steps } = request
  const { admission, store, system, agents } = deps.gateway
  const { threadId, runId } = input
  const messageId = news.userMessages.at(-1)?.id ?? `${runId}-input`
  const joinedThread = joined && { ...joined, target: await requireTarget(joined) }
  const run: ProvenRun = {
    owner,
    agent,
    domain: agents.domain,
    threadId,
    runId,
    messageId,
    content,
    closedQuestion,
    document,
    formerIds: news.formerIds,
    arrival: recordRun(record),
    receivedAt: system.now(),
    joined: joinedThread,
  }
  const inbound: Inbound<ProvenRun, ProvenRun> = {
    name: 'web',
    verify: async proven => proven,
    normalize: proven => [normalizeRun(proven)],
  }
  const [admitResult] = await receive(inbound, run, { admission, store, system, steps, ...reception }).catch(error => {
    throw error instanceof Rejection && error.code === 'replayed' ? new RepeatedRun() : error
  })
  return { message: readMessageNumber(admitResult), task: { owner: owner.owner, id: runId }, askedAt: run.receivedAt }
}

async function requireTarget({ via, findTarget }: NonNullable<Conversation['joined']>): Promise<Json> {
  const target = await findTarget()
  if (target !== undefined) return target
  throw new Rejection('unsupported', `Cannot run: this conversation goes on only where it began (${via})`)
}

function readMessageNumber(admitResult: AdmitResult | undefined): number {
  if (admitResult === undefined) throw new Error('the store admitted nothing')
  if (admitResult.outcome !== 'accepted') throw new RepeatedRun()
  return admitResult.message
}
