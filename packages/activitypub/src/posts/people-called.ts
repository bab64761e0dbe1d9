import type { AgentChain, NormalizedResponse } from '@postern/core'
import { isFinalHop } from '@postern/core'
import { isOpen } from '../format/visibility.ts'
import { normalizeName } from '../words/inline-links.ts'
import { readNamedWords } from '../words/words-called.ts'
import type { Rendering } from './rendering.ts'

const maxMentions = 20

/** People whom a response mentions besides the author it answers. */
export interface Called {
  /** Those in its `mentions`. */
  readonly chosen: readonly string[]
  /** Further ones that its words name. */
  readonly named: readonly string[]
}

/**
 * How many people the words of a response may call: none where it is for some only, who did not ask for others to read along; none at the end
 * of a chain of agents (MN-8.3). Pure.
 */
export function countCallable(
  visibility: Rendering['visibility'],
  chain: AgentChain | undefined,
  most: number,
): number {
  return isOpen(visibility) && !isFinalHop(chain) ? most : 0
}

/** People whom a response reaches in any case. */
export interface Reached {
  /** The names of the agent itself, as `ownNames` gives them. */
  readonly own: readonly string[]
  /** The author that it answers. */
  readonly author?: string | undefined
}

/**
 * Words call no agent of this gateway: a report names whoever it was asked of (`@one@agents.example: done`), which would ask them again. An
 * agent wakes another one by `mentions`. Pure.
 */
export function findCalled(
  { mentions, parts }: Pick<NormalizedResponse, 'mentions' | 'parts'>,
  { callable = 0 }: Pick<Rendering, 'callable'>,
  { own, author }: Reached,
): Called {
  const known = [author, ...own]
  const chosen = othersMentioned(mentions, known)
  const left = Math.max(0, callable - chosen.length)
  if (left === 0) return { chosen, named: [] }
  const hosts = new Set(own.map(hostOfName))
  const strangers = readNamedWords(parts).names.filter(name => !hosts.has(hostOfName(name)))
  return { chosen, named: othersMentioned(strangers, [...known, ...chosen]).slice(0, left) }
}

/** The host of `@user@host`. */
function hostOfName(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1).toLowerCase()
}

export function everybodyCalled({ chosen, named }: Called): readonly string[] {
  return [...chosen, ...named]
}

/** An agent goes by the domain of its handle and by the host of its actor: it does not wake itself by either. */
export function ownNames(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Those an answer mentions, once each, without whom it goes to anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  known: readonly (string | undefined)[] = [],
): readonly string[] {
  const named = mentions.map(
    mention => normalizeName(mention) ?? `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`,
  )
  return [...new Set(named)].filter(mention => !known.includes(mention)).slice(0, maxMentions)
}
