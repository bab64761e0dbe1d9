import { domainToUnicode } from 'node:url'
import type { AgentDirectory, ChannelContext, Proof, RelationEffect } from '@postern/core'
import type { Mailbox } from '../mail/addresses.ts'
import { formatMailbox } from '../mail/addresses.ts'
import type { KnownDomain, Likeness } from './likeness.ts'
import { findLikeDomains, findLikeLocals } from './likeness.ts'

/** The standing of an author with an agent that others have written to before. */
export interface SenderHistory {
  /** `lookalike`, `display_name_spoof` */
  readonly flags: readonly string[]
  /** The people an author could be mistaken for, by the number of a message of theirs. */
  readonly proofs: readonly Proof[]
  /** The relation to remember when this message is answered. */
  effects(messageId: string): readonly RelationEffect[]
}

/** Compares an author with those who are known to an agent as proven. */
export type MeetCorrespondent = (agent: string, author: Mailbox, isVerified: boolean) => Promise<SenderHistory>

type CorrespondentDeps = Pick<ChannelContext, 'store' | 'platform'>

const pageSize = 200
/** Named to the operator; one message that looks like more is no better. */
const maxLike = 3

const relation = 'correspondent'
/** Nothing to report, nothing to remember. */
export const noSenderHistory: SenderHistory = { flags: [], proofs: [], effects: () => [] }

interface SenderCache {
  readonly book: AddressBook
  /** The position of the last relation that was read. */
  place: number
  reading?: Promise<void> | undefined
}

/**
 * Every proven author who wrote to an agent is a relation of it, and a copy of them is held here. New relations are
 * read before an unknown author is compared. An author who resembles another is not remembered, so each further mail is
 * compared again.
 */
export function createCorrespondents(gateway: CorrespondentDeps): MeetCorrespondent {
  const caches = new Map<string, SenderCache>()

  function openRecords(agent: string): SenderCache {
    const records = caches.get(agent) ?? { book: createAddressBook(), place: 0 }
    caches.set(agent, records)
    return records
  }

  async function readOn(agent: string, records: SenderCache): Promise<void> {
    for (;;) {
      const filter = { via: 'email', agent, relation, limit: pageSize, after: records.place } as const
      const page = await gateway.store.listRelations(filter)
      for (const { peer, target, place } of page) {
        records.book.add(peer, readTarget(target).name)
        records.place = place
      }
      if (page.length < pageSize) return
      // Thousands are read with the first mail only; other mail does not wait for it.
      await gateway.platform.sleep(1)
    }
  }

  async function refresh(agent: string, records: SenderCache): Promise<void> {
    records.reading ??= readOn(agent, records).finally(() => {
      records.reading = undefined
    })
    return records.reading
  }

  return async (agent, author, isVerified) => {
    const records = openRecords(agent)
    const { book } = records
    if (!book.find(author)) await refresh(agent, records)
    const known = book.find(author)
    const found = await keepReal(findLike(book, author, known), { agent, author, isVerified, book, gateway })
    if (found.length > 0) return describeLikeness(found)
    if (!isVerified || (known && !isRenamed(author, known))) return noSenderHistory
    return known ? renameAuthor(known.peer, author, book) : addAuthor(author, book)
  }
}

function readTarget(target: unknown): { readonly name?: string; readonly id?: string } {
  const { name, id } = (target ?? {}) as { readonly name?: unknown; readonly id?: unknown }
  return { ...(typeof name === 'string' && { name }), ...(typeof id === 'string' && { id }) }
}

function renameAuthor(peer: string, { name }: Mailbox, book: AddressBook): SenderHistory {
  book.add(peer, name)
  return { ...noSenderHistory, effects: id => [relateAuthor(peer, name, id)] }
}

/** Into the book it comes when it is read from the store. */
function addAuthor(author: Mailbox, book: AddressBook): SenderHistory {
  const outdated = findOutdated(book, author)
  const ending = outdated === undefined ? [] : [{ kind: 'unrelate', relation, peer: outdated } as const]
  if (outdated !== undefined) book.remove(outdated)
  return { ...noSenderHistory, effects: id => [relateAuthor(formatMailbox(author), author.name, id), ...ending] }
}

function relateAuthor(peer: string, name: string | undefined, id: string): RelationEffect {
  return { kind: 'relate', relation, peer, target: { id, ...(name && { name }) } }
}

interface Comparing {
  readonly agent: string
  readonly author: Mailbox
  readonly isVerified: boolean
  readonly book: AddressBook
  readonly gateway: CorrespondentDeps
}

type FoundLike = Likeness & { readonly message: number | undefined }

/**
 * Keeps likenesses to people whom the store still knows, so that forgotten people are forgotten here too. It leaves out
 * the author's own other addresses.
 */
async function keepReal(likes: readonly Likeness[], comparing: Comparing): Promise<readonly FoundLike[]> {
  const own = likes.length > 0 ? await listOwnAddresses(comparing) : new Set()
  const found: FoundLike[] = []
  for (const like of likes) {
    if (found.length >= maxLike) break
    if (own.has(like.peer.toLowerCase())) continue
    const { agent, book, gateway } = comparing
    const known = await gateway.store.findRelation({ via: 'email', agent, relation, peer: like.peer })
    if (!known) book.remove(like.peer)
    else found.push({ ...like, message: await findNumber(readTarget(known.target).id, comparing) })
  }
  return found
}

async function findNumber(id: string | undefined, { agent, gateway }: Comparing): Promise<number | undefined> {
  const found = id === undefined ? undefined : await gateway.store.findMessageTo(agent, id)
  return found?.message
}

/** Mailboxes that the author has linked with this one (`docs/guides/people.md`). */
async function listOwnAddresses({ agent, author, isVerified, gateway }: Comparing): Promise<ReadonlySet<string>> {
  const mailbox = formatMailbox(author).toLowerCase()
  const identity = { via: 'email', address: `@${mailbox}`, subject: `mailto:${mailbox}` } as const
  const person = isVerified ? await gateway.store.findPerson(agent, identity) : undefined
  return new Set(person?.addresses.flatMap(({ via, address }) => (via === 'email' ? [address.slice(1)] : [])))
}

/** It contains nobody's address, which would stay there after that person is forgotten. */
function describeLikeness(found: readonly FoundLike[]): SenderHistory {
  return {
    ...noSenderHistory,
    flags: [...new Set(found.map(({ flag }) => flag))],
    proofs: found.map(({ flag, how, message }) => {
      const whose = message === undefined ? 'of a correspondent' : `of who wrote #${message}`
      return { kind: flag === 'lookalike' ? 'address' : 'name', verdict: 'policy', reason: `${how} ${whose}` }
    }),
  }
}

/** A domain's owner has all its mailboxes, and must not displace the mailboxes of others with them. */
const [maxKnown, maxOfDomain] = [10_000, 1_000]

/** The mailbox that one more replaces: the oldest of its domain, or of all; undefined below the limits. */
function findOutdated({ entries, domains }: AddressBook, { domain }: Mailbox): string | undefined {
  const { locals } = domains.get(domain) ?? {}
  if (locals && locals.size >= maxOfDomain) return locals.values().next().value?.peer
  return entries.size >= maxKnown ? entries.keys().next().value : undefined
}

/** It had another display name before. */
function isRenamed(author: Mailbox, known: KnownMailbox): boolean {
  return author.name !== undefined && foldNameOf(author, known) !== known.folded
}

/** A known name is folded already, so it is not folded again for each mail. */
function foldNameOf({ name }: Mailbox, known: KnownMailbox | undefined): string {
  return known && known.name === name ? known.folded : foldName(name ?? '')
}

/**
 * Known mailboxes that an author could be mistaken for. One that resembles a known one never becomes known itself, but a known one may take
 * another name.
 */
function findLike(book: AddressBook, author: Mailbox, known: KnownMailbox | undefined): readonly Likeness[] {
  const likes = known ? [] : findLikeMailboxes(book, author)
  return [...likes, ...findNamesakes(book, author.domain, foldNameOf(author, known))]
}

function findLikeMailboxes({ domains }: AddressBook, { local, domain }: Mailbox): readonly Likeness[] {
  const base = baseOf(local)
  const own = domains.get(domain) ?? describeDomain(domain)
  const { shown, folded, locals } = own
  const compared = { domain, base, foldedBase: foldLetters(base), shown, folded }
  return [...findLikeDomains(domains, compared), ...findLikeLocals(locals, compared)]
}

function findNamesakes({ entries, names }: AddressBook, domain: string, folded: string): Likeness[] {
  const peers = [...(names.get(folded) ?? [])]
  return peers
    .filter(peer => !areNested(entries.get(peer)?.domain ?? domain, domain))
    .map(peer => ({ flag: 'display_name_spoof', how: 'it bears the same name at another domain as that', peer }))
}

/** The domain itself, and those above and below it, are in the same hands. */
function areNested(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
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

interface KnownMailbox extends Pick<Mailbox, 'domain' | 'name'> {
  readonly base: string
  /** As it reads. */
  readonly folded: string
}

type AddressBook = ReturnType<typeof createAddressBook>

/** The mailboxes that an agent knows, with an index of their domains and one of their names. */
function createAddressBook() {
  /** By address, in the order in which the agent came to know them. */
  const entries = new Map<string, KnownMailbox>()
  const domains = new Map<string, KnownDomain>()
  /** Addresses by folded name. */
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

  /** This mailbox, with any tag after a `+`. */
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
