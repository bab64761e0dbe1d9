import type { TranscriptEntry } from '@postern/transcript'
import type { WebDeps } from './deps.ts'
import { maxRead } from './deps.ts'
import type { Conversation } from './history/conversation.ts'
import { findWebConversation } from './history/conversation.ts'
import type { AskedRun } from './input/asked-run.ts'
import { RunRepeated } from './input/asked-run.ts'
import type { RunNews } from './input/reconcile.ts'
import { reconcileRun } from './input/reconcile.ts'

/** A run with the conversation it belongs to. */
interface ResolvedRun {
  /** Undefined for a chat without messages. */
  readonly found: Conversation | undefined
  /** The last entries of the conversation. */
  readonly recent: readonly TranscriptEntry[]
  /** The same without answers of the gateway, which ask nothing and show nothing of an agent. */
  readonly spoken: readonly TranscriptEntry[]
  readonly news: RunNews
}

/** How many stored entries a client's copy is compared with. */
const recentEntries = 400

/** Finds the conversation of a run and what is new in the run. @throws Rejection no_recipient, RunRepeated */
export async function resolveRun(asked: AskedRun, deps: WebDeps): Promise<ResolvedRun> {
  const { owner, agent, input } = asked
  if (await deps.gateway.store.findTask({ owner: owner.owner, id: input.runId })) throw new RunRepeated()
  const found = await findWebConversation({ owner, agent, threadId: input.threadId }, deps)
  const range = { tail: recentEntries, max_bytes: maxRead }
  const recent = found ? await deps.transcript.read(found.thread, range) : []
  const spoken = recent.filter(({ stage }) => stage !== 'gateway')
  return { found, recent, spoken, news: reconcileRun(input, recent) }
}
