// Flags an author whose domain or name imitates another domain or name.

import { domainToUnicode } from 'node:url'
import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import type { Mailbox } from '../mail/mailbox.ts'
import { foldLetters, skeletonOf } from './fold-letters.ts'

/**
 * Returns the flags `mixed_script`, `lookalike_domain` and `display_name_spoof` of an author. A look-alike domain reads
 * as Latin, or as this gateway's domain. A spoofed name contains an address, or is the name of a local agent.
 */
export function findLookAlikes({ domain, name }: Mailbox, agents: AgentDirectory): string[] {
  const unicodeDomain = domainToUnicode(domain).normalize('NFC')
  const hasForeignLetters = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}]/u.test(unicodeDomain)
  const readsAsLatin = hasForeignLetters && !/\P{ASCII}/u.test(skeletonOf(unicodeDomain))
  const readsAsOwnDomain = domain !== agents.domain && foldLetters(unicodeDomain) === foldLetters(agents.domain)
  return [
    ...(unicodeDomain.split('.').some(hasMixedScripts) ? ['mixed_script'] : []),
    ...(readsAsLatin || readsAsOwnDomain ? ['lookalike_domain'] : []),
    ...(isSpoofedName(name, agents) ? ['display_name_spoof'] : []),
  ]
}

/**
 * Returns true if a label mixes two of these alphabets. Chinese, Japanese and Korean names often contain Latin letters,
 * so these scripts are not checked.
 */
function hasMixedScripts(label: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u]
  return scripts.filter(script => script.test(label)).length > 1
}

function isSpoofedName(name: string | undefined, agents: AgentDirectory): boolean {
  if (!name) return false
  if (name.includes('@')) return true
  return foldAgentNames(agents.list()).has(foldLetters(name.trim()))
}

/**
 * The folded names of the agents, by the list of agents. The cache saves work, because a gateway may have very many
 * agents and nearly every mail has a name.
 */
const foldedNames = new WeakMap<readonly AgentProfile[], ReadonlySet<string>>()

function foldAgentNames(agents: readonly AgentProfile[]): ReadonlySet<string> {
  const agentNames = foldedNames.get(agents) ?? new Set(agents.map(({ displayName }) => foldLetters(displayName)))
  foldedNames.set(agents, agentNames)
  return agentNames
}
