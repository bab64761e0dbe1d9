// Chooses the mentions that an answer makes: each address once, and a bounded number.

import { parseIfAddress } from './address.ts'

interface MentionLimits {
  /** Addresses that are never mentioned: the agent's own, and the sender's, who gets the answer anyway. */
  readonly without: readonly string[]
  readonly most: number
}

/** The maximum of mentions in an answer, unless the operator sets another one. */
export const defaultMaxMentions = 10

/**
 * Chooses the mentions of an answer: each address once, none of `without`, and at most `most`. It ignores texts that
 * are not addresses. Pure.
 */
export function chooseMentions(mentions: readonly string[], { without, most }: MentionLimits): readonly string[] {
  const taken = new Set(without.map(nameOf))
  const chosen: string[] = []
  for (const text of mentions) {
    const name = nameOf(text)
    if (name === undefined || taken.has(name) || chosen.length >= most) continue
    taken.add(name)
    chosen.push(`@${text.trim().replace(/^(acct:)?@?/i, '')}`)
  }
  return chosen
}

/** Returns the one spelling by which an address is compared; undefined for a text that is not an address. */
function nameOf(text: string): string | undefined {
  const address = parseIfAddress(text.trim())
  return address && `${address.local}@${address.domain}`
}
