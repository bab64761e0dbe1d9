import type { ChannelContext, Proof, RelationEffect } from '@postern/core'
import type { Mailbox } from '../mail/header-values.ts'
import { formatMailbox } from '../mail/header-values.ts'
import type { Likeness } from './likeness.ts'
import { createKnownMailboxes, findLikeDomains, findLikeLocals, findNamesakes, foldName } from './likeness.ts'

/** The standing of an author with an agent that others have written to before. */
export interface SenderHistory {
  /** `lookalike`, `display_name_spoof` */
  readonly flags: readonly string[]
  /** The people an author could be mistaken for, by the number of a message of theirs. */
  readonly proofs: readonly Proof[]
  /** The relation to remember when this message is answered. */
  effects(messageId: string): readonly RelationEffect[]
}

export interface Correspondents {
  /** Compares an author with those who are known to an agent as proven. */
  meet(agent: string, author: Mailbox, isVerified: boolean): Promise<SenderHistory>
}

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
export function createCorrespondents(gateway: CorrespondentDeps): Correspondents {
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

  return {
    async meet(agent, author, isVerified) {
      const records = openRecords(agent)
      const { book } = records
      if (!book.find(author)) await refresh(agent, records)
      const known = book.find(author)
      const found = await keepReal(book.findLike(author), { agent, author, isVerified, book, gateway })
      if (found.length > 0) return describeLikeness(found)
      if (!isVerified || (known && !known.isRenamed)) return noSenderHistory
      return known ? renameAuthor(known.peer, author, book) : addAuthor(author, book)
    },
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
  const outdated = book.findOutdated(author)
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

/** The mailboxes that an agent knows, in the order in which it came to know them. */
interface AddressBook {
  add(peer: string, name: string | undefined): void
  remove(peer: string): void
  /** This mailbox, with any tag after a `+`; `isRenamed`: it had another display name before. */
  find(author: Mailbox): { readonly peer: string; readonly isRenamed: boolean } | undefined
  /** Known mailboxes that an author could be mistaken for. */
  findLike(author: Mailbox): readonly Likeness[]
  /** The mailbox that one more replaces: the oldest of its domain, or of all; undefined below the limits. */
  findOutdated(author: Mailbox): string | undefined
}

/** A domain's owner has all its mailboxes, and must not displace the mailboxes of others with them. */
const [maxKnown, maxOfDomain] = [10_000, 1_000]

function createAddressBook(): AddressBook {
  const known = createKnownMailboxes()

  /** A known name is folded already, so it is not folded again for each mail. */
  function foldNameOf(author: Mailbox, entry = known.find(author)): string {
    return entry && entry.name === author.name ? entry.folded : foldName(author.name ?? '')
  }

  return {
    add: known.add,
    remove: known.remove,
    find(author) {
      const entry = known.find(author)
      const isRenamed = author.name !== undefined && foldNameOf(author, entry) !== entry?.folded
      return entry && { peer: entry.peer, isRenamed }
    },
    findLike(author) {
      // A mailbox that resembles a known one never becomes known itself, but a known one may take another name.
      const likes = known.find(author) ? [] : [...findLikeDomains(known, author), ...findLikeLocals(known, author)]
      return [...likes, ...findNamesakes(known, author.domain, foldNameOf(author))]
    },
    findOutdated({ domain }) {
      const { locals } = known.domains.get(domain) ?? {}
      if (locals && locals.size >= maxOfDomain) return locals.values().next().value?.peer
      return known.entries.size >= maxKnown ? known.entries.keys().next().value : undefined
    },
  }
}
