import type { Mailbox } from '../addresses/mailbox.ts'
import { foldName } from '../text/confusables.ts'
import { createKnownMailboxes } from './known-mailboxes.ts'
import type { Likeness } from './likeness.ts'
import { findLikeDomains, findLikeLocals, findNamesakes } from './likeness.ts'

/** The mailboxes that an agent knows, in the order in which it came to know them. */
export interface AddressBook {
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

export function createAddressBook(): AddressBook {
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
