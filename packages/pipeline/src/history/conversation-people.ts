// Finds the people of a conversation whom the text of an answer may mention.

import type { Part } from '@postern/message'
import { formatAddress, listNamedAddresses, parseIfAddress } from '@postern/message'
import type { Turn } from '../ports/records/work/turn.ts'
import type { LookupStore } from '../ports/store/lookup-store.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'

/** The number of entries that are searched at each end of a thread. */
const window = { head: 20, tail: 100 } as const

type PeopleDeps = { readonly store: Pick<LookupStore, 'readHistory'> } & Pick<RunningAgent, 'mentions'>

/**
 * Finds the people whom the text of an answer names and who have written to the agent in its conversation with a proof. Names inside a message come
 * from its sender, so they prove nothing. It reads the store only if the text names somebody other than the sender.
 */
export function findNamedPeople(
  turn: Turn,
  parts: readonly Part[],
  { store, mentions: policy = 'conversation' }: PeopleDeps,
): Promise<readonly string[]> | readonly string[] {
  if (policy !== 'conversation') return []
  const { recipient, sender } = turn.content
  const excludedAddresses = new Set([recipient, sender.address].map(normalizeAddress))
  const addresses = listNamedAddresses(parts).filter(address => !excludedAddresses.has(address))
  const isNewConversation = turn.isFirst === true && !turn.merged
  return addresses.length === 0 || isNewConversation ? [] : filterWriters(turn, addresses, store)
}

/** Returns the addresses of people who have written in the conversation. */
async function filterWriters(
  turn: Turn,
  addresses: readonly string[],
  store: PeopleDeps['store'],
): Promise<readonly string[]> {
  const entries = await store.readHistory({ thread: turn.thread, beforeMessage: turn.message, ...window })
  const writerNames = entries.flatMap(({ role, author }) =>
    role === 'user' && author.verified ? [normalizeAddress(author.address)] : [],
  )
  const people = new Set(writerNames)
  return addresses.filter(address => people.has(address))
}

function normalizeAddress(text: string): string {
  const address = parseIfAddress(text)
  return address ? formatAddress(address) : text
}
