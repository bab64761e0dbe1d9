// Finds the conversation of a run, and what is new in the run.
import type { RunAgentInput } from '@ag-ui/core'
import type { IntakeSteps, RefusalContext } from '@postern/pipeline'
import type { TranscriptEntry } from '@postern/transcript'
import type { WebDeps } from './endpoint.ts'
import { maxThreadBytes, RepeatedRun } from './endpoint.ts'
import type { RunNews } from './input/reconcile-run.ts'
import { reconcileRun } from './input/reconcile-run.ts'
import type { Conversation } from './threads/own-threads.ts'
import { findWebConversation } from './threads/web-threads.ts'
import type { WebOwner } from './verify.ts'

/** A run with the conversation it belongs to. */
export interface ResolvedRun {
  /** The conversation. It is undefined for a chat without messages. */
  readonly conversation: Conversation | undefined
  /** The last entries of the conversation. */
  readonly recentEntries: readonly TranscriptEntry[]
  /** The last entries without answers of the gateway, which contain no question and no state of an agent. */
  readonly entries: readonly TranscriptEntry[]
  readonly news: RunNews
}

/** The stored entries that a client's copy is compared with. */
const maxRecentEntries = 400

/** Finds the conversation of a run, and the new messages of the run. @throws Rejection no_recipient, RepeatedRun */
export async function resolveRun(request: RequestedRun, deps: WebDeps): Promise<ResolvedRun> {
  const { owner, input } = request
  const { conversation, recentEntries } = await readRecentEntries(request, deps)
  const news = reconcileRun(input, recentEntries)
  // The admission of a message refuses a repeated run, too. This query is for runs that decide something, or that add nothing.
  const isAdmitted = news.resume.length === 0 && news.userMessages.length + news.toolResults.length > 0
  if (!isAdmitted && (await deps.gateway.store.findTask({ owner: owner.owner, id: input.runId })))
    throw new RepeatedRun()
  const entries = recentEntries.filter(({ stage }) => stage !== 'gateway')
  return { conversation, recentEntries, entries, news }
}

/** Reads the conversation of a run and its last entries. @throws Rejection no_recipient */
export async function readRecentEntries(
  { owner, agent, input }: Pick<RequestedRun, 'owner' | 'agent' | 'input'>,
  deps: WebDeps,
): Promise<Pick<ResolvedRun, 'conversation' | 'recentEntries'>> {
  const conversation = await findWebConversation({ owner, agent, threadId: input.threadId }, deps)
  const range = { tail: maxRecentEntries, max_bytes: maxThreadBytes }
  return { conversation, recentEntries: conversation ? await deps.transcript.read(conversation.thread, range) : [] }
}

/** A run in the form that the client requested, before the gateway stores anything. */
export interface RequestedRun {
  readonly owner: WebOwner
  readonly agent: string
  readonly input: RunAgentInput
  readonly document: unknown
  /** The steps of the intake so far. */
  readonly steps: IntakeSteps
  readonly context: RefusalContext
}
