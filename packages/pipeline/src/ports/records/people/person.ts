// Describes a person with one address or several linked addresses.

import type { ChannelName } from '@postern/message'
import type { PersonState } from '../../agent/agent-state.ts'

/** A person's address on the channel that proves it. */
export interface PersonAddress {
  readonly via: ChannelName
  /** `@local@domain`, lower case. */
  readonly address: string
  /** The principal that the channel has proven for it; absent until a message from it has reached the agent. */
  readonly subject?: string | undefined
}

/** An address that has just been proven. */
export type PersonIdentity = PersonAddress & { readonly subject: string }

/** The addresses of one person for one agent: one that is linked with none, or several that are linked with each other. */
export interface Person {
  /** The key of the state that they share. It changes when addresses are linked or unlinked. */
  readonly id: string
  /** The address to which the others were linked, which is that of the person who asked for the link. Its principal determines the person's key for agents. */
  readonly founder: PersonAddress
  readonly addresses: readonly PersonAddress[]
}

/** The person who speaks, as an agent sees them. */
export interface AgentPerson {
  /**
   * The person's key for this agent, 32 hexadecimal digits, the same for all linked addresses. If two people become one, the key of the person who
   * asked stays.
   */
  readonly id: string
  /** The sender's address; in private conversations that the configuration shares, all addresses that are linked with it. */
  readonly addresses: readonly { readonly via: ChannelName; readonly address: string }[]
  /**
   * The state of a person with linked addresses, in every private conversation; only with `share: "history+state"`. Concurrent turns lose no change
   * that they make with a function of the state.
   */
  readonly state?: PersonState | undefined
}
