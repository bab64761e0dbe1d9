// Chooses the mentions that an answer makes: each address once, and a bounded number.

import { parseIfAddress } from './address.ts'

interface MentionLimits {
  /** Addresses that are never mentioned: the agent's own, and the sender's, who gets the answer anyway. */
  readonly excluded: readonly string[]
  readonly maxMentions: number
}

/** The maximum number of mentions in an answer, unless the operator sets another one. */
export const defaultMaxMentions = 10

/**
 * Chooses the mentions of an answer: each address once, none of `excluded`, and at most `maxMentions`. It ignores texts that
 * are not addresses. It has no side effects.
 */
export function chooseMentions(
  mentions: readonly string[],
  { excluded, maxMentions }: MentionLimits,
): readonly string[] {
  const usedNames = new Set(excluded.map(canonicalName))
  const chosenMentions: string[] = []
  for (const text of mentions) {
    const name = canonicalName(text)
    if (name === undefined || usedNames.has(name) || chosenMentions.length >= maxMentions) continue
    usedNames.add(name)
    chosenMentions.push(`@${text.trim().replace(/^(acct:)?@?/i, '')}`)
  }
  return chosenMentions
}

/** Returns the one spelling by which an address is compared; undefined for a text that is not an address. */
function canonicalName(text: string): string | undefined {
  const address = parseIfAddress(text.trim())
  return address && `${address.local}@${address.domain}`
}
