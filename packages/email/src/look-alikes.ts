import { domainToUnicode } from 'node:url'
import type { AgentDirectory } from '@postern/core'
import type { Mailbox } from './addresses.ts'

/** Letters of other scripts that look like Latin ones, in lower case (a small part of UTS 39's list). */
const cyrillicAndGreek = new Map(
  Object.entries({
    а: 'a',
    в: 'b',
    с: 'c',
    ԁ: 'd',
    е: 'e',
    ё: 'e',
    һ: 'h',
    і: 'i',
    ї: 'i',
    ј: 'j',
    к: 'k',
    ӏ: 'l',
    м: 'm',
    н: 'h',
    о: 'o',
    р: 'p',
    ԛ: 'q',
    г: 'r',
    ѕ: 's',
    т: 't',
    ц: 'u',
    ѵ: 'v',
    ԝ: 'w',
    х: 'x',
    у: 'y',
    α: 'a',
    ε: 'e',
    ι: 'i',
    κ: 'k',
    ν: 'v',
    ο: 'o',
    ρ: 'p',
    τ: 't',
    υ: 'u',
    χ: 'x',
  }),
)
/** Latin that is taken for other Latin; only used against names we know. */
const latin: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/[1i|]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/**
 * Flags for an author whose domain or name is made to look like another: `mixed_script`, `lookalike_domain` (all of it reads
 * as Latin, or as our own domain), `display_name_spoof` (an address, or the name of one of our agents).
 */
export function findLookAlikes({ domain, name }: Mailbox, agents: AgentDirectory): string[] {
  const shown = domainToUnicode(domain).normalize('NFC')
  const skeleton = skeletonOf(shown)
  const isForeign = /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(shown)
  const readsAsLatin = isForeign && !/\P{ASCII}/u.test(skeleton)
  const readsAsOurs = domain !== agents.domain && foldLatin(skeleton) === foldLatin(agents.domain)
  return [
    ...(shown.split('.').some(isMixed) ? ['mixed_script'] : []),
    ...(readsAsLatin || readsAsOurs ? ['lookalike_domain'] : []),
    ...(isSpoofedName(name, agents) ? ['display_name_spoof'] : []),
  ]
}

function skeletonOf(text: string): string {
  const stripped = text.normalize('NFKD').replace(/\p{M}/gu, '')
  return Array.from(stripped, letter => cyrillicAndGreek.get(letter) ?? letter).join('')
}

function foldLatin(text: string): string {
  return latin.reduce((folded, [pattern, by]) => folded.replace(pattern, by), text)
}

/** One label in letters of two alphabets; Chinese, Japanese and Korean mix theirs with Latin and are not meant. */
function isMixed(label: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]
  return scripts.filter(script => script.test(label)).length > 1
}

function isSpoofedName(name: string | undefined, agents: AgentDirectory): boolean {
  if (!name) return false
  if (name.includes('@')) return true
  const folded = foldLatin(skeletonOf(name.toLowerCase().trim()))
  return agents.list().some(({ displayName }) => foldLatin(skeletonOf(displayName.toLowerCase())) === folded)
}
