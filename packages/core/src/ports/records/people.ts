import { z } from 'zod'
import type { ChannelName } from '../../message/message.ts'
import type { AgentState } from '../agent/agent-state.ts'
import type { HistoryRequest } from './transcript.ts'

/** The part of a person's other conversations that an agent may know in this one. */
const sharings = ['none', 'history', 'history+state'] as const

/** Which answers a person is mailed, too, who has linked a mailbox and asked elsewhere. */
const copyings = ['none', 'decided', 'all'] as const

/** The key `people` of an agent's configuration. */
export const agentPeopleShape = {
  people: z
    .strictObject({
      /** Whether people who write to the agent may link a second address. */
      link: z.boolean().default(false),
      /** What the agent gets of a person's other conversations: nothing, their history, or history and state. */
      share: z.enum(sharings).default('none'),
      /** Which answers also go to a linked mailbox: none, those after an operator's decision, or all. */
      mail: z.enum(copyings).default('none'),
    })
    .refine(({ link, share }) => link || share === 'none', {
      path: ['share'],
      message: 'shares between linked addresses: set "link" to true, too',
    })
    .refine(({ link, mail }) => link || mail === 'none', {
      path: ['mail'],
      message: 'goes to linked mailboxes: set "link" to true, too',
    })
    .optional(),
} as const

export type PeopleConfig = NonNullable<z.output<typeof agentPeopleShape.people>>

/** A person's address, by the channel that proves it. */
export interface PersonAddress {
  readonly via: ChannelName
  /** `@local@domain`, lower case. */
  readonly address: string
  /** The principal the channel has proven for it; absent until it has spoken to the agent. */
  readonly subject?: string | undefined
}

/** An address that has just been proven. */
export type PersonIdentity = PersonAddress & { readonly subject: string }

/** Addresses that are linked with each other for one agent, two at least. */
export interface Person {
  /** Changes when addresses are linked or unlinked. */
  readonly id: string
  readonly addresses: readonly PersonAddress[]
}

/** Bounds of what strangers can make us send and keep. Times in ms. */
export const linkLimits = {
  codeMs: 15 * 60_000,
  tries: 5,
  askedPerHour: 5,
  sentPerTargetDay: 3,
  askedPerHostDay: 100,
  sentPerDay: 500,
  addresses: 8,
} as const

export interface LinkRequest extends LinkConfirmation {
  readonly target: PersonAddress
}

export type LinkRefusal = 'linked' | 'full' | 'asked_too_often' | 'sent_too_often'

export type LinkAsked =
  | { readonly outcome: 'sent'; readonly notice: string }
  | { readonly outcome: 'refused'; readonly reason: LinkRefusal }

export interface LinkConfirmation {
  readonly agent: string
  readonly asker: PersonIdentity
  /** The number of the message that asks, or brings the code: for the same one again, nothing new happens. */
  readonly message: number
  /** Of the code. */
  readonly digest: string
  /** The id of the response to the other address, which carries the code, or tells of the link. */
  readonly notice: string
}

export type LinkConfirmed =
  | { readonly outcome: 'linked'; readonly target: PersonAddress; readonly notice: string }
  | { readonly outcome: 'wrong'; readonly triesLeft: number }
  | { readonly outcome: 'full' }
  /** Nothing is open for this address. */
  | { readonly outcome: 'none' }

/** One proof that two addresses are of one person, as the operator sees it. */
export interface PersonLink {
  readonly place: number
  readonly agent: string
  readonly asker: PersonAddress
  readonly target: PersonAddress
  /** Numbers of the messages that asked for the code and brought it back. */
  readonly asked: number
  readonly confirmed: number
  /** ms */
  readonly since: number
}

/** Conversations of one principal alone. */
export interface PrivateScope {
  readonly via: ChannelName
  readonly scope: string
}

export interface PersonHistoryRequest extends Omit<HistoryRequest, 'thread'> {
  readonly agent: string
  /** The conversation that goes on: part of it, however many newer ones there are. */
  readonly thread?: number | undefined
  readonly scopes: readonly PrivateScope[]
}

/** The conversations of a person, and the part of each that is theirs. */
export interface OwnThreads {
  readonly agent: string
  /** Conversations of this person alone. */
  readonly scopes: readonly PrivateScope[]
  /** The person's principals: conversations with others that they began belong to them as well. */
  readonly subjects: readonly string[]
}

export interface OwnThread {
  /** Our number of it. */
  readonly id: number
  readonly via: ChannelName
  readonly scope: string
  /** The thread id of its messages. */
  readonly key: string
  /** Others take part. */
  readonly isShared: boolean
  /** ISO 8601 UTC: the instants of the person's first words in it, and of the last words of anyone. */
  readonly begunAt: string
  readonly lastAt: string
  /** The beginning of the person's first words. */
  readonly beginning: string
}

export interface OwnThreadsRequest extends OwnThreads {
  readonly limit: number
  /** Only those with a smaller number: they are listed from the newest on. */
  readonly before?: number | undefined
}

export interface OwnThreadPage {
  /** Without conversations in which nothing of the person is left to read: a page may have few of them, or none. */
  readonly threads: readonly OwnThread[]
  /** Where the next page begins: its `before`. Absent on the last one. */
  readonly next?: number | undefined
}

export interface Forgetting {
  /** Absent: of all agents. */
  readonly agent?: string | undefined
  readonly addresses: readonly PersonAddress[]
  /** The number of the message that asks for it, which is still to be answered. */
  readonly except?: number | undefined
}

export interface Forgotten {
  readonly messages: number
  readonly links: number
  readonly relations: number
}

/** What linking takes beside the store: codes that nobody can make but the gateway. */
export interface PeopleDeps {
  /** At least `codeLength` bytes that depend on `claim` alone, and on a key of the gateway. */
  deriveBytes(claim: string): Uint8Array
}

/** What an agent is told of a person who wrote to it from more than one address. */
export interface AgentPerson {
  /** All linked addresses, the sender's among them. */
  readonly addresses: readonly { readonly via: ChannelName; readonly address: string }[]
  /**
   * The person's state, in every conversation; only with `share: "history+state"`. Of two turns at once the later
   * commit wins.
   */
  readonly state?: AgentState | undefined
}
