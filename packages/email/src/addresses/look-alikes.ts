import { domainToUnicode } from 'node:url'
import type { AgentDirectory } from '@postern/core'
import { foldLetters, skeletonOf } from '../text/confusables.ts'
import type { Mailbox } from './mailbox.ts'

/**
 * Flags for an author whose domain or name is made to look like another: `mixed_script`, `lookalike_domain` (all of it reads
 * as Latin, or as our own domain), `display_name_spoof` (an address, or the name of one of our agents).
 */
export function findLookAlikes({ domain, name }: Mailbox, agents: AgentDirectory): string[] {
  const shown = domainToUnicode(domain).normalize('NFC')
  const isForeign = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u.test(shown)
  const readsAsLatin = isForeign && !/\P{ASCII}/u.test(skeletonOf(shown))
  const readsAsOurs = domain !== agents.domain && foldLetters(shown) === foldLetters(agents.domain)
  return [
    ...(shown.split('.').some(isMixed) ? ['mixed_script'] : []),
    ...(readsAsLatin || readsAsOurs ? ['lookalike_domain'] : []),
    ...(isSpoofedName(name, agents) ? ['display_name_spoof'] : []),
  ]
}

/** One label in letters of two alphabets; Chinese, Japanese and Korean mix theirs with Latin and are not meant. */
function isMixed(label: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]
  return scripts.filter(script => script.test(label)).length > 1
}

function isSpoofedName(name: string | undefined, agents: AgentDirectory): boolean {
  if (!name) return false
  if (name.includes('@')) return true
  const folded = foldLetters(name.trim())
  return agents.list().some(({ displayName }) => foldLetters(displayName) === folded)
}
