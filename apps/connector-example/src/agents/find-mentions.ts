import { formatAddress, parseAddress } from '@postern/core'

/** `@name@domain`, or `@name` where one domain goes without saying; not in the middle of a word, as in a mail address. */
const mentionPattern =
  /(?<![\p{L}\p{N}_.@/-])@([a-z0-9_][a-z0-9_.-]{0,63})(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/giu

/** The agents a text names, each once, in its order. Lines that quote (`>`) say what somebody else has said, and name nobody. Pure. */
export function findMentions(text: string, agentsDomain: string | undefined): readonly string[] {
  const found = new Set<string>()
  const own = text.replace(/^[^\S\n]*>.*$/gm, '')
  for (const [, name = '', domain = agentsDomain] of own.matchAll(mentionPattern)) {
    const address = domain === undefined ? undefined : readAddress(`${name.replace(/[.-]+$/, '')}@${domain}`)
    if (address !== undefined) found.add(address)
  }
  return [...found]
}

function readAddress(text: string): string | undefined {
  try {
    return formatAddress(parseAddress(text))
  } catch {
    return undefined
  }
}

/** Without the agent's own name in front: it knows who is spoken to. Pure. */
export function dropOwnName(text: string, address: string): string {
  const [, local = '', domain = ''] = address.split('@')
  const [head = ''] = /^\s*@\S+/.exec(text) ?? []
  const named = head
    .trim()
    .replace(/[,:;]$/, '')
    .toLowerCase()
  const isOwn = named === `@${local}@${domain}` || named === `@${local}`
  return isOwn ? text.slice(head.length).trim() || text : text
}
