// Flags an author whose domain or name imitates another.

import { domainToUnicode } from 'node:url'
import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import type { Mailbox } from '../mail/mailbox.ts'
import { foldLetters, skeletonOf } from './fold-letters.ts'

/**
 * Returns flags for an author whose domain or name imitates another: `mixed_script`, `lookalike_domain` (the whole domain reads as Latin, or as this
 * gateway's domain) and `display_name_spoof` (the name contains an address, or is that of a local agent).
 */
export function findLookAlikes({ domain, name }: Mailbox, agents: AgentDirectory): string[] {
  const unicodeDomain = domainToUnicode(domain).normalize('NFC')
  const isForeign = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u.test(unicodeDomain)
  const readsAsLatin = isForeign && !/\P{ASCII}/u.test(skeletonOf(unicodeDomain))
  const readsAsOurs = domain !== agents.domain && foldLetters(unicodeDomain) === foldLetters(agents.domain)
  return [
    ...(unicodeDomain.split('.').some(hasMixedScripts) ? ['mixed_script'] : []),
    ...(readsAsLatin || readsAsOurs ? ['lookalike_domain'] : []),
    ...(isSpoofedName(name, agents) ? ['display_name_spoof'] : []),
  ]
}

/** Returns true if a label mixes two alphabets. Chinese, Japanese and Korean mix theirs with Latin and are not meant. */
function hasMixedScripts(label: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]
  return scripts.filter(script => script.test(label)).length > 1
}

function isSpoofedName(name: string | undefined, agents: AgentDirectory): boolean {
  if (!name) return false
  if (name.includes('@')) return true
  return foldNames(agents.list()).has(foldLetters(name.trim()))
}

/** The folded names of the agents, because a gateway may have very many agents and each mail shows a name. */
const foldedNames = new WeakMap<readonly AgentProfile[], ReadonlySet<string>>()

function foldNames(agents: readonly AgentProfile[]): ReadonlySet<string> {
  const agentNames = foldedNames.get(agents) ?? new Set(agents.map(({ displayName }) => foldLetters(displayName)))
  foldedNames.set(agents, agentNames)
  return agentNames
}
