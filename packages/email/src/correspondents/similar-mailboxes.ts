// Finds known mailboxes that resemble the mailbox of an author.
import type { Mailbox } from '../mail/mailbox.ts'
import type { AddressBook, KnownMailbox } from './address-book.ts'
import { describeDomain, withoutSubaddress } from './address-book.ts'
import { foldLetters, foldName } from './fold-letters.ts'
import type { Likeness } from './likeness.ts'
import { findSimilarDomains, findSimilarLocals } from './likeness.ts'

/** Returns true if a known author has another display name than before. */
export function isRenamed(author: Mailbox, knownMailbox: KnownMailbox): boolean {
  return author.name !== undefined && foldNameOf(author, knownMailbox) !== knownMailbox.foldedName
}

/** Returns the folded name. A known name is folded already, so it is not folded again for each mail. */
function foldNameOf({ name }: Mailbox, knownMailbox: KnownMailbox | undefined): string {
  return knownMailbox && knownMailbox.name === name ? knownMailbox.foldedName : foldName(name ?? '')
}

/**
 * Finds known mailboxes that an author could be mistaken for. A mailbox that resembles a known one never becomes known
 * itself, but a known one may change its name.
 */
export function findLikenesses(
  book: AddressBook,
  author: Mailbox,
  knownMailbox: KnownMailbox | undefined,
): readonly Likeness[] {
  const likenesses = knownMailbox ? [] : findSimilarMailboxes(book, author)
  return [...likenesses, ...findNamesakes(book, author.domain, foldNameOf(author, knownMailbox))]
}

function findSimilarMailboxes({ domains }: AddressBook, { local, domain }: Mailbox): readonly Likeness[] {
  const base = withoutSubaddress(local)
  const ownDomain = domains.get(domain) ?? describeDomain(domain)
  const { unicodeName, foldedName, locals } = ownDomain
  const comparedAuthor = { domain, base, foldedBase: foldLetters(base), unicodeName, foldedName }
  return [...findSimilarDomains(domains, comparedAuthor), ...findSimilarLocals(locals, comparedAuthor)]
}

function findNamesakes({ entries, names }: AddressBook, domain: string, foldedName: string): Likeness[] {
  const peers = [...(names.get(foldedName) ?? [])]
  return peers
    .filter(peer => !areNested(entries.get(peer)?.domain ?? domain, domain))
    .map(peer => ({
      flag: 'display_name_spoof',
      description: 'it bears the same name at another domain as that',
      peer,
    }))
}

/** Returns true if two domains are in the same hands: a domain and those above and below it. */
function areNested(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`)
}
