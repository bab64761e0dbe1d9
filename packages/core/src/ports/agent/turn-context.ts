import type { ArtifactPart, FilePart, Part } from '../../message/part.ts'
import type { TokenUsage } from '../../message/token-usage.ts'
import type { ReadNote } from '../records/note.ts'
import type { PeopleConfig, PeopleDeps } from '../records/people.ts'
import type { Turn } from '../records/work.ts'
import type { RequirementDeps } from '../requirement-store.ts'
import type { Store } from '../store.ts'
import type { ResultStore } from '../work-store.ts'
import type { ActionDeps } from './action-deps.ts'
import type { Agent, AttachmentBytes } from './agent.ts'
import type { CallAgent } from './agent-call.ts'
import type { HistoryPolicy } from './history-policy.ts'
import type { FetchFile } from './kept-file.ts'
import type { MentionFanoutLimits } from './mention-fanout-limits.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { WaitingTurns } from './waiting.ts'

export interface RunningAgent {
  readonly agent: Agent
  readonly history: HistoryPolicy
  /** Longest time for one turn, ms. */
  readonly deadlineMs: number
  /** Whether people may link their addresses; absent: no. */
  readonly people?: PeopleConfig | undefined
}

/** What working a turn takes. */
export interface TurnContext extends ActionDeps {
  readonly store: Omit<Store, keyof ResultStore>
  /** What ends the turn. */
  readonly results: Pick<ResultStore, 'commit' | 'release' | 'keepStreamed'>
  readonly retry: RetryPolicy
  /** A turn that was begun this often without an end (a crash each time) is answered as failed, unrun. */
  readonly maxCrashes: number
  findAgent(name: string): RunningAgent | undefined
  /** Adds what only the moment of the call can: signed addresses of attachments. */
  presentParts(parts: readonly Part[]): Part[]
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
  /** Absent where files that lie elsewhere stay there. */
  readonly fetchFile?: FetchFile | undefined
  /** Absent where agents elsewhere cannot be called. */
  readonly callAgent?: CallAgent | undefined
  /** Absent where nothing is noted. */
  readonly readNote?: ReadNote | undefined
  /** Absent where nothing that is required can be decided. */
  readonly requirements?: RequirementDeps | undefined
  /** Absent where nobody can link addresses. */
  readonly people?: PeopleDeps | undefined
  /** Where turns are while they wait for such an agent; absent where nothing but them runs. */
  readonly waiting?: WaitingTurns | undefined
  /** What those that a turn calls are told of its trace; absent where nothing is traced. */
  traceparentOf?(turn: Pick<Turn, 'correlationId' | 'message' | 'token'>): string
  /** Told what each run of an agent has spent, whatever came of it; absent where nobody counts. */
  countUsage?(agent: string, usage: readonly TokenUsage[]): void
  /** How many siblings an answer may wake, and how they are asked; default: `defaultMentionFanoutLimits`. */
  readonly fanout?: MentionFanoutLimits | undefined
}
