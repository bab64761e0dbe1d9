// Declares the dependencies of a turn.

import type { ArtifactPart, FilePart, Part, TokenUsage } from '@postern/message'
import type { CallAgent } from '../agent/agent-call.ts'
import type { AttachmentBytes } from '../agent/agent-context.ts'
import type { EndedStep } from '../agent/step-recorder.ts'
import type { ReadNote } from '../records/note.ts'
import type { LinkDeps } from '../records/people/person-link.ts'
import type { FetchFile } from '../records/planned-delivery.ts'
import type { Turn } from '../records/work/turn.ts'
import type { RequirementDeps } from '../requirement-claims.ts'
import type { Store } from '../store/store.ts'
import type { ResultStore } from '../store/work-store.ts'
import type { ActionDeps } from './action-deps.ts'
import type { CallBudget } from './call-budget.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { RunningAgent } from './running-agent.ts'

/** The party that fetches the files of a message: an agent of this gateway, or a peer. */
export type FileReader = 'agent' | 'peer'

/** The dependencies of work on a turn. */
export interface TurnContext extends ActionDeps {
  readonly store: Omit<Store, keyof ResultStore>
  /** The operations that end the turn. */
  readonly results: Pick<ResultStore, 'commit' | 'release' | 'storeStreamedAnswer'>
  readonly retry: RetryPolicy
  /** The maximum number of process crashes during a turn. After that, the turn is answered as failed. */
  readonly maxCrashes: number
  findAgent(name: string): RunningAgent | undefined
  /** Adds the signed addresses of attachments, which depend on the time of the call. By default, they are for an agent of this gateway. */
  presentParts(parts: readonly Part[], reader?: FileReader): Part[]
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
  /** Fetches a file from another host. Absent if such files are not fetched. */
  readonly fetchFile?: FetchFile | undefined
  /** Calls an agent on another host. Absent if such calls are impossible. */
  readonly callAgent?: CallAgent | undefined
  /** Reads a note of an agent. Absent if notes are not recorded. */
  readonly readNote?: ReadNote | undefined
  /** The states of requirements. Absent if requirements cannot be decided. */
  readonly requirements?: RequirementDeps | undefined
  /** The codes for linking addresses. Absent if nobody can link addresses. */
  readonly people?: LinkDeps | undefined
  /** The turns that wait for another agent; absent for turns that no worker runs, such as replays. */
  readonly waitingTurns?: WaitingTurns | undefined
  /** The limit on calls to agents that each message may cause; absent if there is no limit. */
  readonly callBudget?: CallBudget | undefined
  /** Reports that the agent has answered: the turn no longer needs a slot, although its answer is not stored yet. */
  onAnswered?(turn: Turn): void
  /** Returns the trace header for agents that the turn calls: it names the turn, or a step of it. Absent if nothing is traced. */
  traceparentOf?(turn: Pick<Turn, 'correlationId' | 'message' | 'token'>, step?: number): string
  /** Reports each ended step of a turn. Absent if nothing is traced. */
  onStepEnded?(turn: Turn, step: EndedStep): void
  /** Counts the tokens of each run of an agent, regardless of its outcome. Absent if they are not counted. */
  countUsage?(agent: string, usage: readonly TokenUsage[]): void
  /** The limits on the sibling agents that an answer may call by mentions; default: `defaultMentionFanoutLimits`. */
  readonly fanout?: MentionFanoutLimits | undefined
}

export interface MentionFanoutLimits {
  /** The maximum number of siblings that one answer may call. */
  readonly maxMentions: number
  /** The number of siblings that are called concurrently. */
  readonly concurrency: number
  /** The time for the calls of all siblings together, in ms. A sibling that has not answered by then counts as unreachable. */
  readonly timeoutMs: number
}

/**
 * Turns that wait for another agent. They occupy no slot. Otherwise agents that wait for each other, inside this gateway or through others, could
 * occupy every slot and wait forever for an agent that gets none.
 */
export interface WaitingTurns {
  /** Counts the turn as waiting while `call` runs. @throws Unavailable if too many calls are in progress, or any error of the call */
  trackCall<Value>(turn: Turn, call: () => Promise<Value>): Promise<Value>
}
