// Composes an ActivityPub activity other than a note, in the form of Mastodon.
import { randomInt } from 'node:crypto'
import type { Fault } from '../../fault.ts'
import type { LoopbackAnswer } from '../../net/loopback-fetch.ts'
import type { SimActor } from './actor.ts'
import { publicAddressee } from './note.ts'

/** Any activity except a new note, sent to an agent's server. */
export interface ActivityDelivery {
  /** The sender. Default: `alice@mastodon.test`. */
  readonly from?: string | undefined
  /** The agent with the inbox, such as `@echo@agents.test`. */
  readonly to: string
  /** The type: `Follow`, `Undo`, `Like`, `Announce`, `Update`, `Delete`, `Block`, … */
  readonly type: string
  /** The object of the activity. Default: the agent itself. */
  readonly object?: unknown
  /** Further members, or other values of the usual ones. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** The inbox. Default: the agent's own. */
  readonly inbox?: 'actor' | 'shared' | undefined
  readonly fault?: Fault | undefined
}

export type SimActivity = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }

export interface ActivityReceipt extends LoopbackAnswer {
  readonly activityId: string
  readonly activity: SimActivity
}

interface ActivityPlan {
  readonly author: SimActor
  /** The actor IRI of the agent. */
  readonly recipient: string
  readonly type: string
  readonly object: unknown
  readonly fields: Readonly<Record<string, unknown>>
}

type Audience = Readonly<Record<'to' | 'cc', readonly string[]>>

/** The audiences of public activities. All other activities are private, and Mastodon does not address them. */
const audiences: Readonly<Record<string, (followers: string, recipient: string) => Audience>> = {
  Announce: (followers, recipient) => ({ to: [publicAddressee], cc: [followers, recipient] }),
  Update: (followers, recipient) => ({ to: [publicAddressee], cc: [followers, recipient] }),
  Delete: () => ({ to: [publicAddressee], cc: [] }),
}

/** Composes an activity in Mastodon's form. Its id contains the time and a random number, so that no id repeats. */
export function composeSimActivity({ author, recipient, type, object, fields }: ActivityPlan): SimActivity {
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${author.id}#${type.toLowerCase()}s/${Date.now()}${randomInt(100_000, 1_000_000)}`,
    type,
    actor: author.id,
    ...audiences[type]?.(`${author.id}/followers`, recipient),
    object: object ?? recipient,
    ...fields,
  }
}
