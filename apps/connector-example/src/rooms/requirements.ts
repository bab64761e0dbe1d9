import { randomBytes, randomUUID } from 'node:crypto'
import { Rejection } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { RoomPerson } from './session.ts'

/** A policy as the room shows it: nothing in it decides anything. */
export interface ShownRequirement {
  readonly kind: string
  readonly title?: string | undefined
  readonly message: string
  readonly actionLabel?: string | undefined
  /** At the agent's own origin; for the eyes of `asked` alone. */
  readonly url?: string | undefined
  readonly price?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  /** Who alone may decide; absent where nobody here can. */
  readonly asked?: RoomPerson | undefined
  /** Names it in the person's form; absent where it is not decided here. */
  readonly token?: string | undefined
  readonly status: 'open' | 'sent' | 'granted' | 'declined' | 'over' | 'told'
}

/** What is needed to bring a decision back, and nobody but us sees. */
export interface HeldRequirement {
  readonly token: string
  readonly room: string
  readonly asked: RoomPerson
  readonly address: string
  readonly taskId: string
  readonly entryId: string
  readonly kind: string
  /** `in_reply_to_state` of the resolution. */
  readonly state: string
  /** Of the message that brings the decision: the same however often it is tried. */
  readonly messageId: string
}

export interface RoomDecision {
  readonly room: string
  readonly person: RoomPerson
  readonly outcome: 'granted' | 'declined'
}

export interface OpenRequirements {
  /** @returns the token of a form that decides it */
  hold(requirement: Omit<HeldRequirement, 'messageId' | 'token'>): string
  /**
   * Uses it up: of two presses one counts. Who may not, uses nothing up.
   * @throws Rejection `no_recipient`, `forbidden`
   */
  take(token: string, decision: RoomDecision): HeldRequirement
  /** It could not be brought to the agent, and may be tried again. */
  putBack(requirement: HeldRequirement): void
}

const most = 2_000

/** Single-use resumption state (MN-7.2), bound to a person, a room and a task. In memory. */
export function createOpenRequirements(): OpenRequirements {
  const held = createExpiringMap<HeldRequirement>(most)
  return {
    hold(requirement) {
      const token = randomBytes(24).toString('base64url')
      held.set(token, { ...requirement, token, messageId: randomUUID() })
      return token
    },
    take(token, { room, person, outcome }) {
      const requirement = held.get(token)
      if (requirement?.room !== room)
        throw new Rejection('no_recipient', 'This is decided already, or was never asked here')
      if (requirement.asked.id !== person.id) throw new Rejection('forbidden', 'This is for somebody else to decide')
      // A press pays nothing, and says nothing of who somebody is.
      const mayGrant = requirement.kind === 'consent_required'
      if (outcome === 'granted' && !mayGrant) throw new Rejection('forbidden', 'This is not decided here')
      held.delete(token)
      return requirement
    },
    putBack: requirement => held.set(requirement.token, requirement),
  }
}
