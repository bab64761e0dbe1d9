// Finds the author of a mail that came through a mailing list, even if the list replaced From.
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'

type ListMail = Pick<ProvenMail, 'header' | 'signedHeader' | 'addresses'>

/** Fields in which a list names the address that reaches all of its members (RFC 2369 §3.4 and older programs). */
const postingFields = ['list-post', 'x-beenthere', 'mailing-list', 'x-mailing-list'] as const
/** Fields with addresses for commands. Each begins or ends with the name of the list (RFC 2142 §6). */
const commandFields = ['list-help', 'list-subscribe', 'list-unsubscribe'] as const
const commandMark =
  /^owner-|[-+](?:bounces?|confirm|help|join|leave|off|on|owner|request|sub|subscribe|unsub|unsubscribe)(?:[-+=].*)?$/i

/** Fields in which a list that rewrites From keeps the author (RFC 9057, Google Groups, Sympa). */
const originalAuthorFields = ['author', 'x-original-from', 'original-from'] as const

/**
 * Finds the one person who wrote a list's mail, which is usually the person in From. If the list itself is in From (RFC 7960 §4.1.3.1), it is
 * the one person whom Reply-To or the field for the original From names under the list's proof. It returns undefined if a response could reach
 * the list.
 */
export function findListAuthor(mail: ListMail): Mailbox | undefined {
  const { header, signedHeader, addresses } = mail
  const { author } = addresses
  const lists = listPostingAddresses(mail)
  const isList = (mailbox: Mailbox) => lists.has(formatMailbox(mailbox).toLowerCase())
  const originalAuthors = originalAuthorFields.flatMap(name => readMailboxes(header, [name]))
  const isRewritten =
    originalAuthors.some(mailbox => !isSameMailbox(mailbox, author)) || / via /i.test(author.name ?? '')
  // Some lists give each author an address of their own, which reaches the author alone: `ann=example.net@lists.example`.
  const isAlias = author.local.includes('=')
  if (!isList(author) && (!isRewritten || isAlias)) return author
  const replyTo = findField(signedHeader, 'reply-to') === undefined ? [] : addresses.replyTo
  const isPerson = (mailbox: Mailbox) => !isList(mailbox) && !isSameMailbox(mailbox, author)
  const [first, second] = replyTo.filter(isPerson)
  if (first) return second ? undefined : first
  return originalAuthorFields.flatMap(name => readMailboxes(signedHeader, [name])).find(isPerson)
}

/** Returns lower-case mailboxes that reach all members of the list, as far as the header shows. */
function listPostingAddresses({ header, addresses: { author, to, cc } }: ListMail): ReadonlySet<string> {
  const postingAddresses = readMailboxes(header, postingFields).map(formatMailbox)
  const byCommands = readMailboxes(header, commandFields).flatMap(({ local, domain }) => {
    const name = local.replace(commandMark, '')
    return name && name !== local ? [formatMailbox({ local: name, domain })] : []
  })
  const ids = fieldValues(header, 'list-id').flatMap(readListId)
  const listAddresses = new Set([...postingAddresses, ...byCommands, ...ids].map(address => address.toLowerCase()))
  // If a list without such fields is in From, its mail shows its address there.
  if (listAddresses.size === 0 && [...to, ...cc].some(mailbox => isSameMailbox(mailbox, author)))
    listAddresses.add(formatMailbox(author).toLowerCase())
  return listAddresses
}

/** Reads a List-Id such as `team.list.example`, which joins the list's name and its host (RFC 2919 §2). */
function readListId(value: string): string[] {
  const id = /<([^<>\s]+)>\s*$/.exec(value)?.[1] ?? value.trim()
  const dot = id.indexOf('.')
  return dot > 0 ? [`${id.slice(0, dot)}@${id.slice(dot + 1)}`] : []
}

/** The longest part of a field that is read, in characters. */
const maxFieldChars = 4096

function readMailboxes(header: HeaderBlock, names: readonly string[]): readonly Mailbox[] {
  const values = names.flatMap(name => fieldValues(header, name))
  const pieces = values.flatMap(value => value.slice(0, maxFieldChars).split(/[\s<>(),;?"]+|mailto:/i))
  return pieces.flatMap(word => (word.includes('@') ? (parseMailbox(word) ?? []) : []))
}

function isSameMailbox(left: Mailbox, right: Mailbox): boolean {
  return formatMailbox(left).toLowerCase() === formatMailbox(right).toLowerCase()
}
