import { domainToUnicode } from 'node:url'
import type { AgentDirectory } from '@postern/core'
import type { Mailbox } from '../mail/header-values.ts'

/** A likeness between an author and a known mailbox. */
export interface Likeness {
  readonly flag: 'lookalike' | 'display_name_spoof'
  /** `its domain reads like that`, for the operator. */
  readonly how: string
  /** The address of the known mailbox. */
  readonly peer: string
}

/** One letter of a short name is much of it: `mx1` and `mx2`, `jo` and `jon`. */
const [shortLocal, shortLabel] = [4, 5]
export function findLikeDomains({ domains }: KnownMailboxes, { local, domain }: Mailbox): Likeness[] {
  const { shown, folded } = domains.get(domain) ?? describeDomain(domain)
  const found: Likeness[] = []
  for (const [name, known] of domains) {
    const how = name === domain ? undefined : compareDomains({ shown, folded }, known)
    const example = how && (known.locals.get(baseOf(local)) ?? known.locals.values().next().value)
    if (how && example) found.push({ flag: 'lookalike', how, peer: example.peer })
  }
  return found
}

export function findLikeLocals({ domains }: KnownMailboxes, { local, domain }: Mailbox): Likeness[] {
  const base = baseOf(local)
  const folded = foldLetters(base)
  const found: Likeness[] = []
  for (const [known, other] of domains.get(domain)?.locals ?? []) {
    const how = folded === other.folded ? 'its address reads like that' : compareLocals(base, known)
    if (how) found.push({ flag: 'lookalike', how, peer: other.peer })
  }
  return found
}

export function findNamesakes({ entries, names }: KnownMailboxes, domain: string, folded: string): Likeness[] {
  const peers = [...(names.get(folded) ?? [])]
  return peers
    .filter(peer => !areNested(entries.get(peer)?.domain ?? domain, domain))
    .map(peer => ({ flag: 'display_name_spoof', how: 'it bears the same name at another domain as that', peer }))
}

/** The domain itself, and those above and below it, are in the same hands. */
function areNested(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
}

function compareDomains(one: Pick<KnownDomain, 'shown' | 'folded'>, other: KnownDomain): string | undefined {
  if (one.folded === other.folded) return 'its domain reads like that'
  return isLabelEdited(one.shown, other.shown) ? 'its domain is one letter from that' : undefined
}

/** Two names of one organization. A registry suffix (`co.uk`) is no organization. */
function isSameOrganization(labels: readonly string[], others: readonly string[]): boolean {
  const [own, theirs] = [labels.slice(-2), others.slice(-2)]
  return labels.length > 2 && own.join('.') === theirs.join('.') && (own[0]?.length ?? 0) > 3
}

/** One letter in one label: of a name that is long enough, or of the ending (`.com`, `.co`). */
function isLabelEdited(one: string, other: string): boolean {
  if (!findEdit(one, other)) return false
  const [labels, others] = [one.split('.'), other.split('.')]
  if (labels.length !== others.length || isSameOrganization(labels, others)) return false
  const at = labels.findIndex((label, index) => label !== others[index])
  const [label = '', known = ''] = [labels[at], others[at]]
  if (labels.toSpliced(at, 1).join('.') !== others.toSpliced(at, 1).join('.')) return false
  const isLong = Math.max(label.length, known.length) >= shortLabel || (at > 0 && at === labels.length - 1)
  return isLong && isMistaken(label, known)
}

function compareLocals(one: string, other: string): string | undefined {
  const isLong = Math.max(one.length, other.length) >= shortLocal
  return isLong && isMistaken(one, other) ? 'its address is one letter from that' : undefined
}

/** Numbers are meant to differ: `host1` and `host2` are no deception. */
function isMistaken(one: string, other: string): boolean {
  const edit = findEdit(one, other)
  return edit !== undefined && !edit.every(piece => /^\d$/.test(piece))
}

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

interface KnownDomain {
  /** As it is shown. */
  readonly shown: string
  readonly folded: string
  /** By the local part without its tag, in lower case. */
  readonly locals: Map<string, { readonly peer: string; readonly folded: string }>
}

interface KnownMailbox extends Pick<Mailbox, 'domain' | 'name'> {
  readonly base: string
  /** As it reads. */
  readonly folded: string
}

/** The mailboxes that an agent knows, with an index of their domains and one of their names. */
interface KnownMailboxes {
  /** By address, in the order in which the agent came to know them. */
  readonly entries: ReadonlyMap<string, KnownMailbox>
  readonly domains: ReadonlyMap<string, KnownDomain>
  /** Addresses by folded name. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>
  add(peer: string, name: string | undefined): void
  remove(peer: string): void
  /** This mailbox, with any tag after a `+`. */
  find(mailbox: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined
}

export function createKnownMailboxes(): KnownMailboxes {
  const entries = new Map<string, KnownMailbox>()
  const domains = new Map<string, KnownDomain>()
  const names = new Map<string, Set<string>>()

  function add(peer: string, name: string | undefined): void {
    remove(peer)
    const at = peer.lastIndexOf('@')
    const entry = { base: baseOf(peer.slice(0, at)), domain: peer.slice(at + 1), name, folded: foldName(name ?? '') }
    entries.set(peer, entry)
    const known = domains.get(entry.domain) ?? describeDomain(entry.domain)
    domains.set(entry.domain, known)
    if (!known.locals.has(entry.base)) known.locals.set(entry.base, { peer, folded: foldLetters(entry.base) })
    if (entry.folded) names.set(entry.folded, (names.get(entry.folded) ?? new Set()).add(peer))
  }

  function remove(peer: string): void {
    const entry = entries.get(peer)
    if (!entry) return
    entries.delete(peer)
    const { locals } = domains.get(entry.domain) ?? {}
    if (locals?.get(entry.base)?.peer === peer) locals.delete(entry.base)
    if (locals?.size === 0) domains.delete(entry.domain)
    const named = names.get(entry.folded)
    named?.delete(peer)
    if (named?.size === 0) names.delete(entry.folded)
  }

  function find({ local, domain }: Mailbox): (KnownMailbox & { readonly peer: string }) | undefined {
    const peer = domains.get(domain)?.locals.get(baseOf(local))?.peer ?? ''
    const entry = entries.get(peer)
    return entry && { ...entry, peer }
  }

  return { entries, domains, names, add, remove, find }
}

/** The local part without its tag, which the mailbox owner chooses at will. */
function baseOf(local: string): string {
  return local.toLowerCase().replace(/(?<=.)\+.*$/, '')
}

function describeDomain(domain: string): KnownDomain {
  const shown = domainToUnicode(domain).normalize('NFC')
  return { shown, folded: foldLetters(shown), locals: new Map() }
}

/** Letters that look like Latin ones, in lower case (a small part of UTS 39's list; most of the rest are taken apart by NFKD). */
const likenesses: Readonly<Record<string, string>> = {
  // Cyrillic
  ...{ а: 'a', в: 'b', ь: 'b', с: 'c', ԁ: 'd', е: 'e', ё: 'e', ҽ: 'e', ԑ: 'e', ԍ: 'g', һ: 'h', і: 'i', ї: 'i', ј: 'j' },
  ...{ к: 'k', қ: 'k', ӏ: 'l', м: 'm', н: 'h', о: 'o', р: 'p', ԛ: 'q', г: 'r', ѕ: 's', т: 't', ц: 'u', ѵ: 'v', ԝ: 'w' },
  ...{ х: 'x', у: 'y', ү: 'y' },
  // Greek
  ...{ α: 'a', γ: 'y', ε: 'e', ι: 'i', κ: 'k', ν: 'v', ο: 'o', ρ: 'p', τ: 't', υ: 'u', χ: 'x' },
  // Armenian
  ...{ ց: 'g', հ: 'h', յ: 'j', ո: 'n', ռ: 'n', օ: 'o', զ: 'q', ս: 'u' },
  // Latin of other alphabets
  ...{
    ɑ: 'a',
    ᴄ: 'c',
    đ: 'd',
    ɡ: 'g',
    ħ: 'h',
    ı: 'i',
    ɩ: 'i',
    ł: 'l',
    ø: 'o',
    ᴏ: 'o',
    ꜱ: 's',
    ŧ: 't',
    ᴜ: 'u',
    ᴠ: 'v',
    ᴡ: 'w',
    ᴢ: 'z',
  },
}
const letters = new Map(Object.entries(likenesses))

/** Latin that resembles other Latin; only used against known names. */
const latin: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/[1i|]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/** A text in lower case, by what its letters look like. */
function skeletonOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the rule
  if (/^[\x00-\x7f]*$/.test(text)) return text
  const bare = text.normalize('NFKD').replace(/[\p{M}\p{Cf}]/gu, '')
  return Array.from(bare, letter => letters.get(letter) ?? letter).join('')
}

/** Two texts with the same result are easily confused. */
export function foldLetters(text: string): string {
  return latin.reduce((folded, [pattern, by]) => folded.replace(pattern, by), skeletonOf(text.toLowerCase()))
}

/** The words of a name, in whatever order and between whatever signs; empty when it has none. */
export function foldName(name: string): string {
  const words = foldLetters(name).match(/[\p{L}\p{N}]+/gu) ?? []
  return words.toSorted().join(' ')
}

/**
 * The difference of two texts, when it is one letter more, less or changed, or two swapped neighbours: both pieces.
 * Undefined for equal texts and for larger differences.
 */
export function findEdit(left: string, right: string): readonly [left: string, right: string] | undefined {
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (longer - shorter > 1 || left === right) return undefined
  let start = 0
  while (start < shorter && left[start] === right[start]) start += 1
  let end = 0
  while (end < shorter - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1
  // Nearly all of thousands end here, and nothing is cut out for them.
  if (longer - start - end > 2) return undefined
  const [one, other] = [left.slice(start, left.length - end), right.slice(start, right.length - end)]
  const isSwap = one.length === 2 && other.length === 2 && one[0] === other[1] && one[1] === other[0]
  return isSwap || (one.length <= 1 && other.length <= 1) ? [one, other] : undefined
}
