import type { ChannelName } from '../../message/message.ts'
import type { TurnAttempt } from '../trace/trace.ts'
import type { DeliveryRecord, MessageState } from './records.ts'
import type { RequirementRecord } from './requirement-record.ts'
import type { TaskState } from './task.ts'

/**
 * What is stored about one message, so that a reader can say why it was answered as it was. It holds no content and no secret.
 * All times are ms since 1970 UTC.
 */
export interface WhyRecord {
  readonly message: WhyMessage
  /** Absent: no agent was to answer. */
  readonly turn?: WhyTurn | undefined
  readonly answer?: WhyAnswer | undefined
  /** Of the answer and of handshakes, at most 20, in the order in which they were queued; not of broadcasts. */
  readonly deliveries: readonly WhyDelivery[]
  /** At most 20, oldest first. */
  readonly requirements: readonly WhyRequirement[]
  /** When no gateway ran, within the life of this message. At most 20. */
  readonly downtimes: readonly Downtime[]
}

interface WhyMessage {
  readonly number: number
  /** The peer's id. */
  readonly id: string
  readonly agent: string
  readonly recipient: string
  readonly channel: ChannelName
  readonly sender: string
  readonly isVerified: boolean
  readonly kind: string
  readonly receivedAt: number
  /** When its peer claims to have sent it. */
  readonly sentAt?: number | undefined
  readonly flags: readonly string[]
  /** The number of the message whose words it changed before the answer. */
  readonly changed?: number | undefined
  /** How often the peer sent it again. */
  readonly duplicates: number
  readonly correlationId: string
  readonly forgottenAt?: number | undefined
  /** Its peer waits in the call for the answer, or asks for it. */
  readonly isTask: boolean
}

interface WhyTurn {
  readonly state: MessageState
  readonly attempt: number
  /** Attempts in a row that neither committed nor gave back, with the one that runs. */
  readonly crashes: number
  /** When it may be taken up, or its lease runs out; absent: it waits for an earlier turn of its thread. */
  readonly dueAt?: number | undefined
  readonly leaseOwner?: string | undefined
  /** Those that have ended, oldest first. */
  readonly attempts: readonly TurnAttempt[]
  /** It waits for another agent. */
  readonly isWaiting: boolean
  /** What the same speaker says before this time is handled with it. */
  readonly readyAt?: number | undefined
  readonly endedAt?: number | undefined
  readonly error?: string | undefined
  /** The number of the message that it is answered together with. */
  readonly mergedInto?: number | undefined
  /** The turn at the head of its thread, when that is another one. */
  readonly ahead?: WhyTurnAhead | undefined
}

interface WhyTurnAhead {
  readonly message: number
  readonly isLeased: boolean
  readonly dueAt: number
  readonly error?: string | undefined
}

interface WhyAnswer {
  readonly at: number
  readonly status: TaskState
  readonly retractedAt?: number | undefined
}

export interface WhyDelivery {
  readonly number: number
  readonly message: number
  readonly to: string
  readonly state: DeliveryRecord['state']
  readonly attempts: number
  readonly queuedAt: number
  readonly dueAt?: number | undefined
  readonly isLeased: boolean
  readonly endedAt?: number | undefined
  readonly error?: string | undefined
  /** What the far side said when it took it. */
  readonly note?: string | undefined
  /** It carries the agent's answer; otherwise a handshake. */
  readonly isAnswer: boolean
}

interface WhyRequirement
  extends Pick<RequirementRecord, 'id' | 'status' | 'address' | 'issuedAt' | 'expiresAt' | 'resolvedAt'> {
  readonly kind: string
  /** Who may decide it. */
  readonly isForOperator: boolean
}

/** No gateway ran between these instants. */
export interface Downtime {
  readonly from: number
  readonly to: number
}
