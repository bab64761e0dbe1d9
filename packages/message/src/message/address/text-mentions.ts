// Finds the names in an agent's text, and limits those that count as mentions. No function here has side effects.
import type { Part } from '../part.ts'
import { formatAddress, parseIfAddress } from './address.ts'

export const mentionPolicies = ['named', 'conversation', 'any'] as const

/**
 * People whom the text of an agent may mention: nobody (`named`: only the member `mentions` counts), people who have written in the conversation, or
 * everybody.
 */
export type MentionPolicy = (typeof mentionPolicies)[number]

export const defaultMentionPolicy: MentionPolicy = 'conversation'

/** The maximum number of names in one text. Further ones count as plain text. */
const maxNames = 500
const namePattern =
  /(?<![\p{L}\p{N}_@/.+-])@[\w.-]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}.-]{0,251}[\p{L}\p{M}\p{N}])?/gu

/** Returns the addresses that text parts name, each once, as `@local@domain`. */
export function listNamedAddresses(parts: readonly Part[]): readonly string[] {
  const addresses = new Set<string>()
  for (const part of parts) {
    if (part.kind !== 'text' || !part.content.includes('@')) continue
    for (const [text] of part.content.matchAll(namePattern)) {
      const address = addresses.size < maxNames ? parseIfAddress(text) : undefined
      if (address) addresses.add(formatAddress(address))
    }
  }
  return [...addresses]
}

/** Returns a text in which addresses that do not count lack their first `@`. `before` is the character that the text follows. */
export function writeNamesAsText(text: string, counts: (address: string) => boolean, before = ''): string {
  if (!text.includes('@')) return text
  return text.replace(namePattern, (name, at: number) => {
    const address = at === 0 && /[\p{L}\p{N}_@/.+-]/u.test(before) ? undefined : parseIfAddress(name)
    return address && !counts(formatAddress(address)) ? name.slice(1) : name
  })
}

/** Returns true if text parts may contain a name in any markup. HTML also writes `@` as a character reference. */
function mayNameAddresses(parts: readonly Part[]): boolean {
  return parts.some(part => part.kind === 'text' && /[@&]/.test(part.content))
}

/**
 * Returns the names of a text that count as mentions: those of `people`. Undefined leaves the text unbounded, because the policy allows everybody
 * or because there is no name in it.
 */
export function boundTextMentions(
  parts: readonly Part[],
  policy: MentionPolicy | undefined = defaultMentionPolicy,
  people: readonly string[] = [],
): string[] | undefined {
  if (policy === 'any' || !mayNameAddresses(parts)) return undefined
  if (policy === 'named' || people.length === 0) return []
  const addresses = new Set(people)
  return listNamedAddresses(parts).filter(address => addresses.has(address))
}
