// Finds known mailboxes that resemble the mailbox of an author.
import type { Mailbox } from '../mail/mailbox.ts'
import type { AddressBook, KnownMailbox } from './address-book.ts'
import { describeDomain, removeSubaddress } from './address-book.ts'
import { foldLetters, foldName } from './fold-letters.ts'
import type { Likeness } from './likeness.ts'
import { findSimilarDomains, findSimilarLocals } from './likeness.ts'

/** Returns true if the display name of a known author has changed. */
export function hasNewName(author: Mailbox, knownMailbox: KnownMailbox): boolean {
  return author.name !== undefined && findFoldedName(author, knownMailbox) !== knownMailbox.foldedName
}

/** Returns the folded name. A known name is already folded, so it is not folded again for each mail. */
function findFoldedName({ name }: Mailbox, knownMailbox: KnownMailbox | undefined): string {
  return knownMailbox && knownMailbox.name === name ? knownMailbox.foldedName : foldName(name ?? '')
}

/**
 * Finds known mailboxes that an author could be mistaken for. A mailbox that resembles a known mailbox never becomes
 * known itself, but a known mailbox may change its name.
 */
export function findLikenesses(
  book: AddressBook,
  author: Mailbox,
  knownMailbox: KnownMailbox | undefined,
): readonly Likeness[] {
  const likenesses = knownMailbox ? [] : findSimilarMailboxes(book, author)
  return [...likenesses, ...findNamesakes(book, author.domain, findFoldedName(author, knownMailbox))]
}

function findSimilarMailboxes({ domains }: AddressBook, { local, domain }: Mailbox): readonly Likeness[] {
  const baseLocal = removeSubaddress(local)
  const ownDomain = domains.get(domain) ?? describeDomain(domain)
  const { unicodeName, foldedName, locals } = ownDomain
  const comparedAuthor = { domain, baseLocal, foldedBaseLocal: foldLetters(baseLocal), unicodeName, foldedName }
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

/** Returns true if two domains have the same owner: they are equal, or one is below the other. */
function areNested(domain: string, otherDomain: string): boolean {
  return domain === otherDomain || domain.endsWith(`.${otherDomain}`) || otherDomain.endsWith(`.${domain}`)
}
