import { randomInt } from 'node:crypto'
import type { Fault } from '../../fault.ts'
import type { LoopbackAnswer } from '../../net/loopback-fetch.ts'
import type { SimActor } from './actor.ts'
import { publicAddressee } from './note.ts'

/** Anything but a new note, said to an agent's server. */
export interface ActivityDelivery {
  /** `alice@mastodon.test` unless said otherwise. */
  readonly from?: string | undefined
  /** Whose inbox: `@echo@agents.test`. */
  readonly to: string
  /** `Follow`, `Undo`, `Like`, `Announce`, `Update`, `Delete`, `Block`, … */
  readonly type: string
  /** Of what; default the agent itself. */
  readonly object?: unknown
  /** Further members, or other values of the usual ones. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  /** Default the agent's own. */
  readonly inbox?: 'actor' | 'shared' | undefined
  readonly fault?: Fault | undefined
}

export type SentActivity = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string }

export interface ActivityReceipt extends LoopbackAnswer {
  readonly activityId: string
  readonly activity: SentActivity
}

interface ActivityPlan {
  readonly author: SimActor
  /** Actor IRI of the agent. */
  readonly recipient: string
  readonly type: string
  readonly object: unknown
  readonly fields: Readonly<Record<string, unknown>>
}

type Audience = Readonly<Record<'to' | 'cc', readonly string[]>>

/** What is said before everybody; all else is between the two, and Mastodon does not even address it. */
const audiences: Readonly<Record<string, (followers: string, recipient: string) => Audience>> = {
  Announce: (followers, recipient) => ({ to: [publicAddressee], cc: [followers, recipient] }),
  Update: (followers, recipient) => ({ to: [publicAddressee], cc: [followers, recipient] }),
  Delete: () => ({ to: [publicAddressee], cc: [] }),
}

/** An activity in Mastodon's form; each has an address of its own. Time and chance, so that none comes twice. */
export function composeSimActivity({ author, recipient, type, object, fields }: ActivityPlan): SentActivity {
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
