// Describes requests to forget a person or to find their messages, and the outcome.

import type { ChannelName, Sender, UnreachableObject } from '@postern/message'
import type { PersonAddress } from './person.ts'

export interface ForgetPersonRequest {
  /** The agent; absent for all agents. */
  readonly agent?: string | undefined
  readonly addresses: readonly PersonAddress[]
  /** The number of the message that asks for the deletion; it stays until it is answered. */
  readonly exceptMessage?: number | undefined
  /** True if the person asks, so that data that protects others from them stays without their name. Default: true with `except`. */
  readonly isOwn?: boolean | undefined
  /** True to delete the records of files whose bytes are in a storage that the gateway no longer uses. Default: they stay. */
  readonly leavesFiles?: boolean | undefined
}

/** The person whose messages the store searches for. */
export interface PersonMessagesRequest {
  /** The agent; absent for messages to any agent. */
  readonly agent?: string | undefined
  /** The addresses, to which the store adds those that are linked with them. */
  readonly addresses: readonly PersonAddress[]
  /** The principal of a chat user. */
  readonly owner?: string | undefined
}

/** A message of a person to an agent. */
export interface PersonMessage {
  readonly agent: string
  readonly via: ChannelName
  readonly sender: Sender
  readonly flags: readonly string[]
  /** The id of the conversation in the form that agents see; absent if others also speak in it. */
  readonly thread: string | undefined
}

export interface ForgetPersonResult {
  readonly messages: number
  readonly links: number
  readonly relations: number
  readonly attachments: number
  /** Entries of all other kinds: chats, records, keys, lookups, deliveries and refusals. */
  readonly traces: number
  /** Files that could not be deleted. */
  readonly unreachable: readonly UnreachableObject[]
}
