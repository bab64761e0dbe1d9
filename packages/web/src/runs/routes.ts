import type { ToolMessage } from '@ag-ui/core'
import type { Admitted, Inbound, IntakeSteps, Json, RefusalPlace } from '@postern/core'
import { createIntakeSteps, hasRefusal, Rejection, receive, recordRefusal } from '@postern/core'
import { peerAddress, problemStatusOf, sseHeaders } from '@postern/http'
import { noteCaller, readClaimedSubject } from '@postern/http/tokens'
import type { AguiPart, TranscriptEntry } from '@postern/transcript'
import { readAguiParts } from '@postern/transcript'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { OpenRuns, WebDeps } from '../endpoint.ts'
import { acceptsStream, answerFaults, createOpenRuns, RunRepeated, readAddressedAgent, readJson } from '../endpoint.ts'
import type { ChatState } from '../events/run-events.ts'
import { addLinks, isAsked, showHistory } from '../history/show-history.ts'
import type { ReadContent } from '../input/file-parts.ts'
import { nothing } from '../input/file-parts.ts'
import type { ProvenRun, SaidRun } from '../normalize.ts'
import { normalizeRun, recordRun } from '../normalize.ts'
import { listOpenInterrupts } from '../requirements/interrupts.ts'
import type { AskedRun, RunNews } from '../resolve.ts'
import {
  countFiles,
  isEarlierClient,
  joinContent,
  openWebThread,
  readContentParts,
  readRunInput,
  resolveRun,
} from '../resolve.ts'
import type { Conversation } from '../threads/own-threads.ts'
import { proofOf } from '../verify.ts'
import { decideInterrupts, nothingDecided } from './resume.ts'
import type { StartedRun, Watched } from './stream-run.ts'
import { streamRun } from './stream-run.ts'

/** Starts and cancels runs (AG-UI 1.0). */
export function createRunRoutes(deps: WebDeps): Hono {
  const open = createOpenRuns(deps.config.limits.runs_per_owner)
  const routes = new Hono()
  const run = answerFaults(deps, c => answerRun(c, deps, open))
  const cancel = answerFaults(deps, c => answerCancel(c, deps))
  for (const base of ['/api/v1/agent', '/api/v1/agents/:agent']) {
    routes.post(`${base}/runs`, run)
    routes.post(`${base}/runs/:run/cancel`, cancel)
  }
  return routes
}

/** What is not taken is kept for the operator's list. */
async function answerRun(c: Context, deps: WebDeps, open: OpenRuns): Promise<Response> {
  const steps = createIntakeSteps(deps.gateway.platform)
  try {
    return await takeRun(c, { deps, open, steps })
  } catch (error) {
    const place = placeOf(c, steps)
    if (!(error instanceof RunRepeated) && !hasRefusal(c.req.raw))
      recordRefusal(error, 'web', { ...deps.gateway, ...place })
    throw error
  }
}

async function takeRun(
  c: Context,
  { deps, open, steps }: { readonly deps: WebDeps; readonly open: OpenRuns; readonly steps: IntakeSteps },
): Promise<Response> {
  const subject = readClaimedSubject(c.req.raw.headers)
  steps.claim({ agent: c.req.param('agent'), ...(subject !== undefined && { claimed_sender: subject }) })
  const since = steps.now()
  const owner = await deps.verifyOwner(c.req.raw)
  noteCaller(steps, since, { proof: proofOf(owner), usedKey: owner.usedKey })
  steps.claim({ claimed_sender: owner.address })
  const agent = readAddressedAgent(c.req.param('agent'), deps)
  if (!acceptsStream(c.req.header('accept'))) return new Response(null, { status: 406 })
  // Counts the run before its body comes: many slow senders would fill the memory.
  const leave = open(owner.owner)
  try {
    const document = await readJson(c, deps, 'run')
    const { input, warnings } = await readRunInput(document)
    steps.claim({ agent, peer_id: input.runId })
    const asked: AskedRun = { owner, agent, input, document, steps, place: placeOf(c, steps) }
    const started = await startRun(asked, deps)
    const all = [...warnings, ...started.warnings]
    return new Response(streamRun(asked, { ...started, warnings: all }, deps, leave), { headers: sseHeaders })
  } catch (error) {
    leave()
    throw error
  }
}

function placeOf(c: Context, steps: IntakeSteps): RefusalPlace {
  const endpoint = 'POST /api/v1/agent/runs'
  return { from: peerAddress(c.env), endpoint, statusOf: problemStatusOf, request: c.req.raw, ...steps.claims() }
}

/** The run ends as cancelled. The gateway drops an answer that comes later. */
async function answerCancel(c: Context, { verifyOwner, gateway }: WebDeps): Promise<Response> {
  const { owner } = await verifyOwner(c.req.raw, 'cancel')
  const key = { owner, id: c.req.param('run') ?? '' }
  if (!(await gateway.store.findTask(key))) throw new Rejection('no_recipient', 'Cannot cancel: there is no such run')
  return c.json({ cancelled: await gateway.store.cancelTask(key) })
}

/** Compares a run with the stored conversation and makes its news durable. @throws Rejection, Unavailable, RunRepeated */
async function startRun(asked: AskedRun, deps: WebDeps): Promise<StartedRun> {
  const { owner } = asked
  const { found, recent, spoken, news } = await resolveRun(asked, deps)
  const decided =
    news.resume.length > 0 ? await decideInterrupts(news.resume, asked, { deps, recent: spoken }) : nothingDecided
  const isAnswered = news.said.length > 0 || decided.answers.length > 0
  const isJoined = found?.joined !== undefined
  const common = {
    listOpen: async () =>
      recent.length > 0 ? listOpenInterrupts(recent, { owner: owner.owner, isAnswered }, deps.gateway) : [],
    snapshots: await takeSnapshots(asked, { recent, said: decided.watched ? [] : news.said, isJoined }, deps),
    state: await findChatState(spoken, deps),
    warnings: [...news.warnings, ...decided.warnings],
    isAsking: decided.isAsking,
  }
  if (decided.watched) {
    const warnings = isAnswered ? [...common.warnings, 'what was said beside a decision was left out'] : common.warnings
    return { ...common, warnings, watched: decided.watched }
  }
  const content = await readNews(news, decided.answers, asked, deps)
  const warnings = [...common.warnings, ...content.warnings]
  if (content.parts.length === 0) return { ...common, warnings, watched: decided.following }
  await deps.transcript.checkQuota(owner.owner, { threads: found ? 0 : 1, entries: 1, bytes: 1 }, deps.quota)
  const said = { asked, news, answers: decided.answers, content, joined: found?.joined }
  const watched = await admitRun(said, deps)
  if (!found) countChat(asked, deps)
  return { ...common, warnings, watched }
}

/** A chat counts from its first message. The run does not wait for this, because a late follower misses the stream. */
function countChat({ owner, agent, input: { threadId } }: AskedRun, deps: WebDeps): void {
  openWebThread({ owner: owner.owner, agent, threadId }, deps).catch(error => {
    deps.gateway.platform.log.warn({ err: error }, 'a new chat is not counted until it is read')
  })
}

async function findChatState(
  recent: readonly TranscriptEntry[],
  { gateway: { store } }: WebDeps,
): Promise<ChatState | undefined> {
  const isAnswer = (entry: TranscriptEntry) => (entry.role === 'assistant' && !entry.is_incomplete) || isAsked(entry)
  const last = recent.findLast(entry => isAnswer(entry) && entry.native_id !== undefined)
  const found = last?.native_id === undefined ? undefined : await store.findResponse(last.native_id)
  return found?.response.chat_state
}

interface Snapped {
  readonly recent: readonly TranscriptEntry[]
  readonly said: RunNews['said']
  readonly isJoined: boolean
}

/** A client keeps known messages at their positions. The first snapshot leaves out the new ones, so that they come after the older ones. */
async function takeSnapshots(
  { owner, input }: AskedRun,
  { recent, said, isJoined }: Snapped,
  deps: WebDeps,
): Promise<StartedRun['snapshots']> {
  const stored = recent.filter(({ chat_seq }) => chat_seq !== undefined)
  const known = new Set(input.messages.map(({ id }) => id))
  if (stored.every(({ native_id, entry_id }) => known.has(native_id ?? entry_id))) return []
  const messages = await showHistory(stored, { owner: owner.owner, isJoined }, deps)
  const shown = messages.map(({ id, role, name, content, metadata }) => ({
    id,
    role,
    ...(name && { name }),
    content: isEarlierClient(input) ? addLinks(content, metadata) : content,
    metadata,
  }))
  return said.length === 0 ? [shown] : [shown, [...shown, ...said]]
}

/** What is new in a run, as the agent reads it. @throws Rejection too_large, unsupported */
export async function readNews(
  { said, toolResults }: Pick<RunNews, 'said' | 'toolResults'>,
  answers: readonly string[],
  { owner, input }: Pick<AskedRun, 'input'> & { readonly owner: Pick<AskedRun['owner'], 'owner'> },
  { attachments, config }: Pick<WebDeps, 'attachments' | 'config'>,
): Promise<ReadContent> {
  const place = { owner: owner.owner, threadId: input.threadId, runId: input.runId }
  const most = config.limits.files_per_run
  if (countFiles(said.map(({ content }) => content)) > most) {
    throw new Rejection('too_large', `Cannot run: more than ${most} files`)
  }
  const read: ReadContent[] = []
  for (const { content } of said) read.push(await readContentParts(content, place, attachments))
  const results = toolResults.map(({ call, content, error }) => ({
    kind: 'tool_call' as const,
    id: call.call_id,
    name: call.name ?? '',
    args: call.args ?? {},
    ...(error === undefined ? { result: readToolContent(content) } : { error: { message: error } }),
  }))
  const answered = answers.map(content => ({ kind: 'text' as const, mime: 'text/plain' as const, content }))
  return joinContent([{ ...nothing, parts: [...results, ...answered] }, ...read])
}

/** Files that a client's tool returned become parts that agents know. Content that only the client understands stays unchanged. */
function readToolContent(content: ToolMessage['content']): unknown {
  if (typeof content === 'string') return content
  const parts = readAguiParts(content as readonly AguiPart[])
  return parts.length === content.length ? { parts } : content
}

/** Makes a person's message durable. @throws Rejection, Unavailable, RunRepeated */
async function admitRun(said: SaidRun, deps: WebDeps): Promise<Watched> {
  const { asked, news, content, joined } = said
  const { owner, agent, input, document, place: reception, steps } = asked
  const { admission, store, platform, agents } = deps.gateway
  const { threadId, runId } = input
  const messageId = news.said.at(-1)?.id ?? `${runId}-input`
  const place = joined && { ...joined, target: await requireTarget(joined) }
  const of = { owner, agent, domain: agents.domain, threadId, runId, messageId }
  const arrival = recordRun(said)
  const run: ProvenRun = { ...of, content, document, former: news.former, arrival, at: platform.now(), joined: place }
  const inbound: Inbound<ProvenRun, ProvenRun> = {
    name: 'web',
    verify: async proven => proven,
    normalize: proven => [normalizeRun(proven)],
  }
  const [admitted] = await receive(inbound, run, { admission, store, platform, steps, ...reception }).catch(error => {
    throw error instanceof Rejection && error.code === 'replayed' ? new RunRepeated() : error
  })
  return { message: numberOf(admitted), task: { owner: owner.owner, id: runId }, askedAt: run.at }
}

async function requireTarget({ via, findTarget }: NonNullable<Conversation['joined']>): Promise<Json> {
  const target = await findTarget()
  if (target !== undefined) return target
  throw new Rejection('unsupported', `Cannot run: this conversation goes on only where it began (${via})`)
}

function numberOf(admitted: Admitted | undefined): number {
  if (admitted === undefined) throw new Error('the store admitted nothing')
  if (admitted.outcome !== 'accepted') throw new RunRepeated()
  return admitted.message
}
