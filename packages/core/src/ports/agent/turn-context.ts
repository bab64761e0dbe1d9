import type { AgentChain, ChannelName } from '../../message/message.ts'
import type { ArtifactPart, FilePart, Part } from '../../message/part.ts'
import type { TokenUsage } from '../../message/token-usage.ts'
import type { Channel } from '../channel.ts'
import type { LookupStore } from '../lookup-store.ts'
import type { Platform } from '../platform/platform.ts'
import type { ReadNote } from '../records/note.ts'
import type { PeopleConfig, PeopleDeps } from '../records/people.ts'
import type { Blob, FetchFile } from '../records/planned-delivery.ts'
import type { Turn } from '../records/work.ts'
import type { RequirementDeps } from '../requirement-store.ts'
import type { Store } from '../store.ts'
import type { ResultStore } from '../work-store.ts'
import type { Agent, AttachmentBytes } from './agent.ts'
import type { CallAgent } from './agent-call.ts'
import type { HistoryPolicy } from './history-policy.ts'

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
  /** Told when the agent has answered: the turn takes no slot any more, though its answer is still to be stored. */
  noteAnswered?(turn: Turn): void
  /** What those that a turn calls are told of its trace; absent where nothing is traced. */
  traceparentOf?(turn: Pick<Turn, 'correlationId' | 'message' | 'token'>): string
  /** Told what each run of an agent has spent, whatever came of it; absent where nobody counts. */
  countUsage?(agent: string, usage: readonly TokenUsage[]): void
  /** How many siblings an answer may wake, and how they are asked; default: `defaultMentionFanoutLimits`. */
  readonly fanout?: MentionFanoutLimits | undefined
}

export interface MentionFanoutLimits {
  /** Siblings that one answer may wake. */
  readonly maxMentions: number
  /** Asked at the same time. */
  readonly atOnce: number
  /** For all of them together, ms: who has not answered by then was not reachable. */
  readonly withinMs: number
}

export interface RetryPolicy {
  /** Wait before the second try, ms; doubles with each further one. */
  readonly baseMs: number
  readonly capMs: number
  /** Given up after this long, ms from when it was queued. */
  readonly giveUpAfterMs: number
}

/**
 * Turns that wait for another agent. They take no slot: agents that all wait for each other, in this gateway or by way of others,
 * would else take every slot there is, and wait for ever for who gets none.
 */
export interface WaitingTurns {
  /** @throws Unavailable when too many calls are under way; whatever the call throws */
  during<Value>(turn: Turn, call: () => Promise<Value>): Promise<Value>
}

/** Who acts. */
export interface ActingAgents {
  readonly agent: string
  /** `@agent@domain` */
  readonly address: string
  /** The message that is being answered, if one is. */
  readonly message?: string | undefined
  /** By which posts go out, where several could. */
  readonly via?: ChannelName | undefined
  /** Of the message that is being answered. */
  readonly chain?: AgentChain | undefined
}

export interface ActionDeps {
  readonly store: Pick<LookupStore, 'findResponse' | 'findMessageTo' | 'findBlob'>
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  /** In the order of the gateway's list. */
  readonly channels: readonly Channel[]
  /** Bytes inside of parts, taken out; without it they stay where they are. */
  storeFiles?(parts: readonly Part[]): StoredFiles
}

export interface StoredFiles {
  readonly parts: Part[]
  readonly blobs: readonly Blob[]
}
