import type { Interrupt, ToolMessage } from '@ag-ui/core'
import { Rejection } from '@postern/core'
import type { AguiPart, TranscriptEntry } from '@postern/transcript'
import { readAguiParts } from '@postern/transcript'
import type { WebDeps } from '../deps.ts'
import type { ChatState } from '../events/chat-state.ts'
import { isAsked, showHistory } from '../history/show-history.ts'
import { openWebThread } from '../history/web-thread.ts'
import type { AskedRun } from '../input/asked-run.ts'
import { isEarlierClient } from '../input/client-version.ts'
import type { ReadContent } from '../input/read-parts.ts'
import { countFiles, readContentParts } from '../input/read-parts.ts'
import type { RunNews } from '../input/reconcile.ts'
import { addLinks } from '../requirements/decision-links.ts'
import { listOpenInterrupts } from '../requirements/interrupts.ts'
import { resolveRun } from '../resolve.ts'
import { admitRun } from './admit-run.ts'
import type { Watched } from './follow-turn.ts'
import { decideInterrupts } from './resume.ts'

/** What a run begins with. */
export interface StartedRun {
  /** Absent when nothing is left to answer. */
  readonly watched: Watched | undefined
  readonly warnings: readonly string[]
  /** The stored messages, for a client that lacks some of them. */
  readonly snapshots: readonly (readonly object[])[]
  /** Reads what the conversation still waits for. */
  readonly listOpen: () => Promise<readonly Interrupt[]>
  /** The chat state of the last answer. */
  readonly state: ChatState | undefined
  /** The client only asked about something that an operator decides. */
  readonly isAsking: boolean
}

/** Compares a run with the stored conversation and makes its news durable. @throws Rejection, Unavailable, RunRepeated */
export async function startRun(asked: AskedRun, deps: WebDeps): Promise<StartedRun> {
  const { owner } = asked
  const { found, recent, spoken, news } = await resolveRun(asked, deps)
  const decided = await decideInterrupts(news.resume, asked, { deps, recent: spoken })
  const isAnswered = news.said.length > 0 || decided.answers.length > 0
  const isJoined = found?.joined !== undefined
  const common = {
    listOpen: () => listOpenInterrupts(recent, { owner: owner.owner, isAnswered }, deps.gateway),
    snapshots: await takeSnapshots(asked, { recent, said: decided.watched ? [] : news.said, isJoined }, deps),
    state: await findChatState(spoken, deps),
    warnings: [...news.warnings, ...decided.warnings],
    isAsking: decided.isAsking,
  }
  if (decided.watched) {
    const isMore = news.said.length > 0 || decided.answers.length > 0
    const warnings = isMore ? [...common.warnings, 'what was said beside a decision was left out'] : common.warnings
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
  return {
    parts: [...results, ...answered, ...read.flatMap(({ parts }) => parts)],
    blobs: read.flatMap(({ blobs }) => blobs),
    warnings: read.flatMap(({ warnings }) => warnings),
  }
}

/** Files that a client's tool returned become parts that agents know. Content that only the client understands stays unchanged. */
function readToolContent(content: ToolMessage['content']): unknown {
  if (typeof content === 'string') return content
  const parts = readAguiParts(content as readonly AguiPart[])
  return parts.length === content.length ? { parts } : content
}
