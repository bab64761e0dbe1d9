// Limits the names in the text of parts on platforms that notify everybody whom the text names (MN-8.1, `inline`).
import type { Part } from '@postern/message'
import { formatAddress, parseIfAddress, writeNamesAsText } from '@postern/message'
import type { Turn } from '../ports/records/work/turn.ts'
import type { LookupStore } from '../ports/store/lookup-store.ts'
import type { RunningAgent } from '../ports/turn/running-agent.ts'
import { findNamedPeople } from './conversation-people.ts'

export interface InlineMentionDeps {
  readonly store: Pick<LookupStore, 'readHistory'>
  /** Finds a running agent. If it is absent, every agent has the default configuration. */
  findAgent?(name: string): Pick<RunningAgent, 'mentions'> | undefined
}

/** The people whom the text of a turn may name. */
export interface InlineNames {
  /** The people whom any text may name: the sender and the agent. */
  readonly unconditionalNames: readonly string[]
  /** Finds those people whom the text of these parts names and is allowed to name. */
  findNames(parts: readonly Part[]): Promise<readonly string[]> | readonly string[]
}

/** Returns the names that the text of a turn may have; undefined if it may have any. */
export function readInlineNames(turn: Turn, { store, findAgent }: InlineMentionDeps): InlineNames | undefined {
  const { mentions: policy } = findAgent?.(turn.agent) ?? {}
  const { recipient, recipient_capabilities, sender } = turn.content
  if (recipient_capabilities.mention_relay.kind !== 'inline' || policy === 'any') return undefined
  return {
    unconditionalNames: [sender.address, recipient],
    findNames: parts => findNamedPeople(turn, parts, { store, mentions: policy }),
  }
}

/** Creates a function that tells whether an address belongs to one of these people. */
export function createNameCheck(people: readonly string[]): (address: string) => boolean {
  const addresses = new Set(people.flatMap(text => parseIfAddress(text) ?? []).map(formatAddress))
  return address => addresses.has(address)
}

/** Turns names of other people in the text of complete parts into plain text. `mentions` lists further people whom the text may name. */
export async function boundInlineParts(
  parts: readonly Part[],
  { unconditionalNames, findNames }: InlineNames,
  mentions: readonly string[] = [],
): Promise<Part[]> {
  const isNamed = createNameCheck([...unconditionalNames, ...mentions, ...(await findNames(parts))])
  return parts.map(part =>
    part.kind === 'text' ? { ...part, content: writeNamesAsText(part.content, isNamed) } : part,
  )
}
