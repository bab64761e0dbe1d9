// Describes the stored facts from which `postern why` explains an answer.
import type { ChannelName, DeliveryReason, TurnAttempt } from '@postern/message'
import type { RequirementRecord } from '../requirement-record.ts'
import type { TaskState } from '../task.ts'
import type { DeliveryRecord } from './delivery-record.ts'
import type { MessageState } from './message-record.ts'

/**
 * The stored facts about one message from which a reader can say why it was answered as it was. They hold no content and no secret. All times are
 * ms since 1970 UTC.
 */
export interface WhyRecord {
  readonly message: WhyMessage
  /** The turn; absent if no agent had to answer. */
  readonly turn?: WhyTurn | undefined
  readonly answer?: WhyAnswer | undefined
  /** The deliveries of the answer and of handshakes, at most 20, in the order in which they were queued; broadcasts are left out. */
  readonly deliveries: readonly WhyDelivery[]
  /** The requirements of the answer, at most 20, oldest first. */
  readonly requirements: readonly WhyRequirement[]
  /** The times without a gateway, within the life of this message. At most 20. */
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
  /** The time at which the peer claims to have sent the message. */
  readonly sentAt?: number | undefined
  readonly flags: readonly string[]
  /** The number of the message that this message edited, if the edit came before the answer. */
  readonly changed?: number | undefined
  /** The number of times that the peer sent the message again. */
  readonly duplicates: number
  readonly correlationId: string
  readonly forgottenAt?: number | undefined
  /** True if its peer waits for the answer in the call, or polls for it. */
  readonly isTask: boolean
}

interface WhyTurn {
  readonly state: MessageState
  readonly attempt: number
  /** The number of attempts that may have crashed the process, including the current one: 1 after the first crash, and one more for each attempt that ran alone. */
  readonly crashes: number
  /** The time at which the turn becomes due, or at which its lease expires; absent if it waits for an earlier turn of its thread. */
  readonly dueAt?: number | undefined
  readonly leaseOwner?: string | undefined
  /** The ended attempts, oldest first. */
  readonly attempts: readonly TurnAttempt[]
  /** True if the turn waits for another agent. */
  readonly isWaiting: boolean
  /** The time until which the turn waits for further messages of the same speaker. */
  readonly readyAt?: number | undefined
  readonly endedAt?: number | undefined
  readonly error?: string | undefined
  /** The number of the message whose answer also answers this one. */
  readonly mergedInto?: number | undefined
  /** The turn at the head of its thread, if that is another one. */
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
  /** The reason; absent for deliveries that were tried before the gateway recorded reasons. */
  readonly reason?: DeliveryReason | undefined
  /** The reply of the peer when it accepted the delivery. */
  readonly note?: string | undefined
  /** True if it carries the agent's answer; false for a handshake. */
  readonly isAnswer: boolean
}

interface WhyRequirement
  extends Pick<RequirementRecord, 'id' | 'status' | 'address' | 'issuedAt' | 'expiresAt' | 'resolvedAt'> {
  readonly kind: string
  /** True if an operator decides it. */
  readonly isForOperator: boolean
}

/** A period in which no gateway ran. */
export interface Downtime {
  readonly from: number
  readonly to: number
}
