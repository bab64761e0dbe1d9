// Keeps what agents ask of people in a room until it is decided once.
import { randomBytes, randomUUID } from 'node:crypto'
import { createExpiringMap } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { RoomPerson } from './session.ts'

/** A policy as the room shows it, without anything that could decide it. */
export interface RequirementView {
  readonly kind: string
  readonly title?: string | undefined
  readonly message: string
  readonly actionLabel?: string | undefined
  /** A link at the agent's own origin, which only `decider` may see. */
  readonly url?: string | undefined
  readonly price?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  /** The only person who may decide; absent if nobody here can. */
  readonly decider?: RoomPerson | undefined
  /** The name of the requirement in the person's form; absent if it is not decided here. */
  readonly token?: string | undefined
  readonly status: 'open' | 'sent' | 'granted' | 'declined' | 'over' | 'told'
}

/** The data for the delivery of a decision, which only the server sees. */
export interface PendingRequirement {
  readonly token: string
  readonly room: string
  readonly decider: RoomPerson
  readonly address: string
  readonly taskId: string
  readonly entryId: string
  readonly kind: string
  /** The `in_reply_to_state` of the resolution. */
  readonly inReplyToState: string
  /** The id of the message that delivers the decision, which is the same for every retry. */
  readonly messageId: string
}

export interface RoomDecision {
  readonly room: string
  readonly person: RoomPerson
  readonly outcome: 'granted' | 'declined'
}

export interface OpenRequirements {
  /** Stores a requirement. @returns the token of the form that decides it */
  add(requirement: Omit<PendingRequirement, 'messageId' | 'token'>): string
  /**
   * Uses the requirement up, so that only one of two clicks counts. A person who may not decide uses nothing up.
   * @throws Rejection `no_recipient`, `forbidden`
   */
  consume(token: string, decision: RoomDecision): PendingRequirement
  /** Restores a requirement whose decision could not be delivered to the agent, so that it can be tried again. */
  restore(requirement: PendingRequirement): void
}

const maxRequirements = 2_000

/** Creates the single-use resumption states (MN-7.2), each bound to a person, a room and a task. In memory. */
export function createOpenRequirements(): OpenRequirements {
  const pending = createExpiringMap<PendingRequirement>(maxRequirements)
  return {
    add(requirement) {
      const token = randomBytes(24).toString('base64url')
      pending.set(token, { ...requirement, token, messageId: randomUUID() })
      return token
    },
    consume(token, { room, person, outcome }) {
      const requirement = pending.get(token)
      if (requirement?.room !== room)
        throw new Rejection('no_recipient', 'This is decided already, or was never asked here')
      if (requirement.decider.id !== person.id) throw new Rejection('forbidden', 'This is for somebody else to decide')
      // A click pays nothing, and proves nobody's identity.
      const mayGrant = requirement.kind === 'consent_required'
      if (outcome === 'granted' && !mayGrant) throw new Rejection('forbidden', 'This is not decided here')
      pending.delete(token)
      return requirement
    },
    restore: requirement => pending.set(requirement.token, requirement),
  }
}
