// Chooses the people whom a response mentions and notifies.
import type { AgentChain, NormalizedResponse } from '@postern/message'
import { isFinalHop } from '@postern/message'
import type { Rendering } from '../format/post-data.ts'
import { isReadableByEveryone } from '../format/visibility.ts'
import { normalizeAddress } from './replace-mentions.ts'
import { readTextReferences } from './text-references.ts'

const maxMentions = 20

/** The people whom a response mentions besides the author of the answered post. */
export interface ChosenMentions {
  /** The people in the `mentions` of the response. */
  readonly chosenMentions: readonly string[]
  /** The further people whom its text names. */
  readonly textMentions: readonly string[]
}

/** The people whom a response reaches even without a mention. */
interface ReachedPeople {
  /** The names of the agent itself, as `listOwnAddresses` returns them. */
  readonly ownAddresses: readonly string[]
  /** The author of the answered post. */
  readonly author?: string | undefined
}

/**
 * Finds the people whom a response mentions. Names of agents of this gateway in its text do not count: a report names the agent that was asked
 * (`@one@agents.example: done`), and a mention would ask that agent again. An agent calls another one by `mentions`. Other names count as
 * `text_mentions` allows. It is pure.
 */
export function selectMentions(
  {
    mentions,
    parts,
    text_mentions: allowedTextMentions,
  }: Pick<NormalizedResponse, 'mentions' | 'parts' | 'text_mentions'>,
  { callable = 0 }: Pick<Rendering, 'callable'>,
  { ownAddresses, author }: ReachedPeople,
): ChosenMentions {
  const excludedNames = [author, ...ownAddresses]
  const chosenMentions = normalizeMentions(mentions, excludedNames)
  const remainingCount = Math.max(0, callable - chosenMentions.length)
  if (remainingCount === 0) return { chosenMentions, textMentions: [] }
  const ownHosts = new Set(ownAddresses.map(readHandleHost))
  if (allowedTextMentions?.length === 0) return { chosenMentions, textMentions: [] }
  const allowedNames = allowedTextMentions && new Set(allowedTextMentions)
  const peerNames = readTextReferences(parts).mentions.filter(
    name => !ownHosts.has(readHandleHost(name)) && allowedNames?.has(name) !== false,
  )
  const peerMentions = normalizeMentions(peerNames, [...excludedNames, ...chosenMentions])
  return { chosenMentions, textMentions: peerMentions.slice(0, remainingCount) }
}

/** Returns the host of `@user@host`. */
function readHandleHost(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1).toLowerCase()
}

/** Returns the names of an agent, by the domain of its handle and by the host of its actor. An agent cannot call itself by either name. */
export function listOwnAddresses(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Returns the mentioned people once each, without those whom the response reaches anyway. */
export function normalizeMentions(
  mentions: readonly string[] = [],
  excludedNames: readonly (string | undefined)[] = [],
): readonly string[] {
  const addresses = mentions.map(
    mention => normalizeAddress(mention) ?? `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`,
  )
  return [...new Set(addresses)].filter(mention => !excludedNames.includes(mention)).slice(0, maxMentions)
}

/**
 * Returns the number of people whom the text of a response may mention. It is 0 for a post to selected people, who have not asked for others to
 * read along, and at the end of a chain of agents (MN-8.3). It is pure.
 */
export function countAllowedTextMentions(
  visibility: Rendering['visibility'],
  chain: AgentChain | undefined,
  maxMentions: number,
): number {
  return isReadableByEveryone(visibility) && !isFinalHop(chain) ? maxMentions : 0
}
