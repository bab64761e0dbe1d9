import { parseAddress } from './address.ts'

interface MentionLimits {
  /** Addresses that are not woken: the agent's own, and the sender's, who gets the answer anyway. */
  readonly without: readonly string[]
  readonly most: number
}

/** The maximum of mentions in an answer, unless the operator sets another one. */
export const defaultMaxMentions = 10

/**
 * The mentions that an answer makes: each once, never oneself, never the sender twice. Texts that are no address are
 * ignored. Pure.
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

/** One spelling for each address. */
function nameOf(text: string): string | undefined {
  try {
    const { local, domain } = parseAddress(text.trim())
    return `${local}@${domain}`
  } catch {
    return undefined
  }
}
