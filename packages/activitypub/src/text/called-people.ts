// Chooses the people whom a response mentions and notifies.
import type { AgentChain, NormalizedResponse } from '@postern/message'
import { isFinalHop } from '@postern/message'
import type { Rendering } from '../format/post-data.ts'
import { isOpen } from '../format/visibility.ts'
import { readInlineNames } from './inline-names.ts'
import { normalizeName } from './map-inline.ts'

const maxMentions = 20

/** The people whom a response mentions besides the author of the answered post. */
export interface Called {
  /** The people in the `mentions` of the response. */
  readonly chosen: readonly string[]
  /** The further people whom its text names. */
  readonly named: readonly string[]
}

/** The people whom a response reaches even without a mention. */
interface Reached {
  /** The names of the agent itself, as `ownNames` returns them. */
  readonly own: readonly string[]
  /** The author of the answered post. */
  readonly author?: string | undefined
}

/**
 * Finds the people whom a response mentions. Its text mentions no agent of this gateway: a report names the agent that was asked
 * (`@one@agents.example: done`), and a mention would ask that agent again. An agent calls another one by `mentions`. Other names count as
 * `text_mentions` allows. It is pure.
 */
export function findCalled(
  { mentions, parts, text_mentions: textMentions }: Pick<NormalizedResponse, 'mentions' | 'parts' | 'text_mentions'>,
  { callable = 0 }: Pick<Rendering, 'callable'>,
  { own, author }: Reached,
): Called {
  const excluded = [author, ...own]
  const chosen = othersMentioned(mentions, excluded)
  const left = Math.max(0, callable - chosen.length)
  if (left === 0) return { chosen, named: [] }
  const hosts = new Set(own.map(hostOfName))
  if (textMentions?.length === 0) return { chosen, named: [] }
  const counts = textMentions && new Set(textMentions)
  const strangers = readInlineNames(parts).names.filter(
    name => !hosts.has(hostOfName(name)) && counts?.has(name) !== false,
  )
  return { chosen, named: othersMentioned(strangers, [...excluded, ...chosen]).slice(0, left) }
}

/** Returns the host of `@user@host`. */
function hostOfName(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1).toLowerCase()
}

/** Returns the names of an agent, by the domain of its handle and by the host of its actor. An agent cannot call itself by either name. */
export function ownNames(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Returns the mentioned people once each, without those whom the response reaches anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  excluded: readonly (string | undefined)[] = [],
): readonly string[] {
  const addresses = mentions.map(
    mention => normalizeName(mention) ?? `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`,
  )
  return [...new Set(addresses)].filter(mention => !excluded.includes(mention)).slice(0, maxMentions)
}

/**
 * Returns the number of people whom the text of a response may mention. It is 0 for a post to selected people, who have not asked for others to
 * read along, and at the end of a chain of agents (MN-8.3). It is pure.
 */
export function countCallable(
  visibility: Rendering['visibility'],
  chain: AgentChain | undefined,
  most: number,
): number {
  return isOpen(visibility) && !isFinalHop(chain) ? most : 0
}
