// Compares an author with the people who wrote to an agent before.
import type { Proof } from '@postern/message'
import type { ChannelContext, RelationEffect } from '@postern/pipeline'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { AddressBook } from './address-book.ts'
import { createAddressBook, findEvictedPeer } from './address-book.ts'
import type { Likeness } from './likeness.ts'
import { findLikenesses, hasNewName } from './similar-mailboxes.ts'

/** The result of comparing an author with the correspondents of an agent. */
export interface SenderHistory {
  /** The flags `lookalike` and `display_name_spoof`. */
  readonly flags: readonly string[]
  /** The correspondents whom the author could be mistaken for, each by the number of a message. */
  readonly proofs: readonly Proof[]
  /** Lists the relations to store when this message is answered. */
  listEffects(messageId: string): readonly RelationEffect[]
}

/** Compares an author with the proven correspondents of an agent. */
export type CompareAuthor = (agent: string, author: Mailbox, isVerified: boolean) => Promise<SenderHistory>

type CorrespondentDeps = Pick<ChannelContext, 'store' | 'system'>

const pageSize = 200

/** The maximum number of likenesses that the operator sees. More likenesses would add nothing. */
const maxLikenesses = 3

const relation = 'correspondent'

/** The history of an author without likenesses, who is not stored. */
export const noSenderHistory: SenderHistory = { flags: [], proofs: [], listEffects: () => [] }

/** The copy of the correspondents of one agent. */
interface SenderCache {
  readonly book: AddressBook
  /** The position of the last relation that was read. */
  lastNumber: number
  pendingRead?: Promise<void> | undefined
}

/**
 * Creates the comparison. Every proven author who wrote to an agent is stored as a relation of the agent, and the
 * comparison keeps a copy of these relations in memory. It reads new relations before it compares an unknown author. An
 * author who resembles a correspondent is not stored, so each further mail of that author is compared again.
 */
export function createCorrespondents(gateway: CorrespondentDeps): CompareAuthor {
  const caches = new Map<string, SenderCache>()

  function openCache(agent: string): SenderCache {
    const cache = caches.get(agent) ?? { book: createAddressBook(), lastNumber: 0 }
    caches.set(agent, cache)
    return cache
  }

  async function readNewRelations(agent: string, cache: SenderCache): Promise<void> {
    for (;;) {
      const filter = { via: 'email', agent, relation, limit: pageSize, after: cache.lastNumber } as const
      const page = await gateway.store.listRelations(filter)
      for (const { peer, target, number } of page) {
        cache.book.add(peer, readRelationTarget(target).name)
        cache.lastNumber = number
      }
      if (page.length < pageSize) return
      // Only the first mail reads thousands of relations. The pauses let other mail proceed meanwhile.
      await gateway.system.sleep(1)
    }
  }

  async function refresh(agent: string, cache: SenderCache): Promise<void> {
    cache.pendingRead ??= readNewRelations(agent, cache).finally(() => {
      cache.pendingRead = undefined
    })
    return cache.pendingRead
  }

  return async (agent, author, isVerified) => {
    const cache = openCache(agent)
    const { book } = cache
    if (!book.find(author)) await refresh(agent, cache)
    const mailbox = book.find(author)
    const likenesses = findLikenesses(book, author, mailbox)
    const comparisonContext = { agent, author, isVerified, book, gateway }
    const storedLikenesses = likenesses.length > 0 ? await filterStoredLikenesses(likenesses, comparisonContext) : []
    if (storedLikenesses.length > 0) return describeLikenesses(storedLikenesses)
    if (!isVerified || (mailbox && !hasNewName(author, mailbox))) return noSenderHistory
    return mailbox ? renameAuthor(mailbox.peer, author, book) : addAuthor(author, book)
  }
}

function readRelationTarget(target: unknown): { readonly name?: string; readonly id?: string } {
  const { name, id } = (target ?? {}) as { readonly name?: unknown; readonly id?: unknown }
  return { ...(typeof name === 'string' && { name }), ...(typeof id === 'string' && { id }) }
}

function renameAuthor(peer: string, { name }: Mailbox, book: AddressBook): SenderHistory {
  book.add(peer, name)
  return { ...noSenderHistory, listEffects: id => [relateAuthor(peer, name, id)] }
}

/** Returns the effect that stores a new author. The book adds the author when it reads the store. */
function addAuthor(author: Mailbox, book: AddressBook): SenderHistory {
  const evictedPeer = findEvictedPeer(book, author)
  const removals = evictedPeer === undefined ? [] : [{ kind: 'unrelate', relation, peer: evictedPeer } as const]
  if (evictedPeer !== undefined) book.remove(evictedPeer)
  return { ...noSenderHistory, listEffects: id => [relateAuthor(formatMailbox(author), author.name, id), ...removals] }
}

function relateAuthor(peer: string, name: string | undefined, id: string): RelationEffect {
  return { kind: 'relate', relation, peer, target: { id, ...(name && { name }) } }
}

interface ComparisonContext {
  readonly agent: string
  readonly author: Mailbox
  readonly isVerified: boolean
  readonly book: AddressBook
  readonly gateway: CorrespondentDeps
}

type StoredLikeness = Likeness & { readonly message: number | undefined }

/**
 * Keeps only likenesses to people whom the store still knows, so that the book forgets deleted people. It omits the
 * author's own other addresses.
 */
async function filterStoredLikenesses(
  likenesses: readonly Likeness[],
  context: ComparisonContext,
): Promise<readonly StoredLikeness[]> {
  const ownAddresses = await listOwnAddresses(context)
  const storedLikenesses: StoredLikeness[] = []
  for (const likeness of likenesses) {
    if (storedLikenesses.length >= maxLikenesses) break
    if (ownAddresses.has(likeness.peer.toLowerCase())) continue
    const { agent, book, gateway } = context
    const storedRelation = await gateway.store.findRelation({ via: 'email', agent, relation, peer: likeness.peer })
    if (!storedRelation) book.remove(likeness.peer)
    else
      storedLikenesses.push({
        ...likeness,
        message: await findMessageNumber(readRelationTarget(storedRelation.target).id, context),
      })
  }
  return storedLikenesses
}

async function findMessageNumber(
  id: string | undefined,
  { agent, gateway }: ComparisonContext,
): Promise<number | undefined> {
  const message = id === undefined ? undefined : await gateway.store.findMessageTo(agent, id)
  return message?.message
}

/** Lists the mailboxes that the author has linked with the mailbox of the mail (`docs/guides/people.md`). */
async function listOwnAddresses({
  agent,
  author,
  isVerified,
  gateway,
}: ComparisonContext): Promise<ReadonlySet<string>> {
  const mailbox = formatMailbox(author).toLowerCase()
  const identity = { via: 'email', address: `@${mailbox}`, subject: `mailto:${mailbox}` } as const
  const person = isVerified ? await gateway.store.findPerson(agent, identity) : undefined
  return new Set(person?.addresses.flatMap(({ via, address }) => (via === 'email' ? [address.slice(1)] : [])))
}

/**
 * Describes likenesses by message numbers and not by addresses, because the description outlives the deletion of a
 * person.
 */
function describeLikenesses(storedLikenesses: readonly StoredLikeness[]): SenderHistory {
  return {
    ...noSenderHistory,
    flags: [...new Set(storedLikenesses.map(({ flag }) => flag))],
    proofs: storedLikenesses.map(({ flag, description, message }) => {
      const owner = message === undefined ? 'of a correspondent' : `of who wrote #${message}`
      return { kind: flag === 'lookalike' ? 'address' : 'name', verdict: 'policy', reason: `${description} ${owner}` }
    }),
  }
}
