// Finds known mailboxes that resemble the mailbox of an author.
import type { Mailbox } from '../mail/mailbox.ts'
import type { AddressBook, KnownMailbox } from './address-book.ts'
import { describeDomain, withoutSubaddress } from './address-book.ts'
import { foldLetters, foldName } from './fold-letters.ts'
import type { Likeness } from './likeness.ts'
import { findLikeDomains, findLikeLocals } from './likeness.ts'

/** Returns true if a known author has another display name than before. */
export function isRenamed(author: Mailbox, knownMailbox: KnownMailbox): boolean {
  return author.name !== undefined && foldNameOf(author, knownMailbox) !== knownMailbox.folded
}

/** Returns the folded name. A known name is folded already, so it is not folded again for each mail. */
function foldNameOf({ name }: Mailbox, knownMailbox: KnownMailbox | undefined): string {
  return knownMailbox && knownMailbox.name === name ? knownMailbox.folded : foldName(name ?? '')
}

/**
 * Finds known mailboxes that an author could be mistaken for. A mailbox that resembles a known one never becomes known
 * itself, but a known one may change its name.
 */
export function findLike(
  book: AddressBook,
  author: Mailbox,
  knownMailbox: KnownMailbox | undefined,
): readonly Likeness[] {
  const likes = knownMailbox ? [] : findLikeMailboxes(book, author)
  return [...likes, ...findNamesakes(book, author.domain, foldNameOf(author, knownMailbox))]
}

function findLikeMailboxes({ domains }: AddressBook, { local, domain }: Mailbox): readonly Likeness[] {
  const base = withoutSubaddress(local)
  const ownDomain = domains.get(domain) ?? describeDomain(domain)
  const { unicodeName, foldedName, locals } = ownDomain
  const comparedAuthor = { domain, base, foldedBase: foldLetters(base), unicodeName, foldedName }
  return [...findLikeDomains(domains, comparedAuthor), ...findLikeLocals(locals, comparedAuthor)]
}

function findNamesakes({ entries, names }: AddressBook, domain: string, foldedName: string): Likeness[] {
  const peers = [...(names.get(foldedName) ?? [])]
  return peers
    .filter(peer => !areNested(entries.get(peer)?.domain ?? domain, domain))
    .map(peer => ({ flag: 'display_name_spoof', how: 'it bears the same name at another domain as that', peer }))
}

/** Returns true if two domains are in the same hands: a domain and those above and below it. */
function areNested(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
}
