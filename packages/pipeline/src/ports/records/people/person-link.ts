// Describes requests to link the addresses of a person, and their outcomes.

import type { Intake } from '../intake.ts'
import type { Person, PersonAddress, PersonIdentity } from './person.ts'

/** A link that was made or ended, with the persons before and after this change. */
export interface LinkChange {
  readonly kind: 'link' | 'unlink'
  readonly personsBefore: readonly Person[]
  readonly personsAfter: readonly Person[]
}

/** Describes a change as a message to the agent, which is stored in the same transaction; undefined if the agent gets no message. It has no side effects. */
export type RenderLinkChange = (change: LinkChange) => Intake | undefined

/** The limits on codes and links that strangers can make us send and store. Times are in ms. */
export const linkLimits = {
  codeLifetimeMs: 15 * 60_000,
  maxAttempts: 5,
  requestsPerHour: 5,
  codesPerTargetPerDay: 3,
  requestsPerHostPerDay: 100,
  codesPerDay: 500,
  maxAddresses: 8,
} as const

export interface LinkRequest extends LinkProof {
  readonly target: PersonAddress
}

export type LinkRefusal = 'linked' | 'full' | 'asked_too_often' | 'sent_too_often'

export type LinkRequestResult =
  | { readonly outcome: 'sent'; readonly notice: string }
  | { readonly outcome: 'refused'; readonly reason: LinkRefusal }

interface LinkProof {
  readonly agent: string
  readonly asker: PersonIdentity
  /** The number of the message that asks for the code or contains it. A repetition of the same message has no further effect. */
  readonly message: number
  /** The digest of the code. */
  readonly digest: string
  /** The id of the response to the other address, which carries the code or announces the link. */
  readonly notice: string
}

export interface LinkConfirmation extends LinkProof {
  /** The digests of the code under keys that a newer one has replaced. */
  readonly formerDigests?: readonly string[] | undefined
  /** Describes the message to the agent; absent if the agent gets none. */
  readonly events?: LinkNotifications | undefined
}

/** The messages that inform an agent about new and ended links. They are queued in the same transaction. */
export interface LinkNotifications {
  readonly describe: RenderLinkChange
  readonly correlationId: string
}

export interface UnlinkRequest {
  readonly agent: string
  readonly identity: PersonIdentity
  readonly other: PersonAddress
  /** Describes the message to the agent; absent if the agent gets none. */
  readonly events?: LinkNotifications | undefined
}

export type LinkConfirmationResult =
  | { readonly outcome: 'linked'; readonly target: PersonAddress; readonly notice: string }
  | { readonly outcome: 'wrong'; readonly attemptsLeft: number }
  | { readonly outcome: 'full' }
  /** No code is open for this address. */
  | { readonly outcome: 'none' }

/** One proof that two addresses belong to one person, as the operator sees it. */
export interface PersonLink {
  readonly number: number
  readonly agent: string
  readonly asker: PersonAddress
  readonly target: PersonAddress
  /** The numbers of the messages that asked for the code and that returned it. */
  readonly asked: number
  readonly confirmed: number
  /** ms */
  readonly since: number
}

/** The dependencies of linking besides the store: codes that only the gateway can create. */
export interface LinkDeps {
  /** Derives at least `codeLength` bytes from `claim` and a key of the gateway, once for each valid key, newest key first. */
  deriveBytes(claim: string): readonly Uint8Array[]
}
