// Finds the author of a mail that came through a mailing list, even if the list replaced From.
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField } from '../mail/header.ts'
import { readHeaderText } from '../mail/header-text.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import {
  findListOfCommandMailbox,
  isSameMailbox,
  maxFieldChars,
  originalAuthorFields,
  readMailboxes,
} from './rewritten-author.ts'

type ListMail = Pick<ProvenMail, 'header' | 'signedHeader' | 'addresses'>

/** Fields in which a list names the address that reaches all of its members (RFC 2369 §3.4 and older programs). */
const postingFields = ['list-post', 'x-beenthere', 'mailing-list', 'x-mailing-list'] as const
/**
 * Fields with addresses for commands. Each of these addresses begins or ends with the name of the list (RFC 2142 §6).
 */
const commandFields = ['list-help', 'list-subscribe', 'list-unsubscribe', 'sender', 'errors-to'] as const

/**
 * Matches the words that lists write between an author's name and their own: "Ann via Team", "Ann über Team", "Team
 * 経由".
 */
const viaPattern =
  /(?<![\p{L}\p{N}])(?:via|vía|über|ueber|durch|tramite|mediante|(?:a|à) trav[ée]s de|au travers de|por meio de|atrav[ée]s de|genom|gjennom|gennem|za pośrednictwem|poprzez|prostřednictvím|prostredníctvom|přes|через|чрез|preko|prin|μέσω|kautta|aracılığıyla|üzerinden|keresztül)(?![\p{L}\p{N}])|経由|通过|通過|透過|경유|통해/iu

/**
 * Finds the one person who wrote a list's mail, which is usually the person in From. If the list itself is in From (RFC
 * 7960 §4.1.3.1), it is the one person whom Reply-To or the field for the original From names under the list's proof.
 * The function returns undefined if a response could reach the list.
 */
export function findListAuthor(mail: ListMail): Mailbox | undefined {
  const { header, signedHeader, addresses } = mail
  const { author } = addresses
  const listAddresses = listPostingAddresses(mail)
  const isListAddress = (mailbox: Mailbox) => listAddresses.has(formatMailbox(mailbox).toLowerCase())
  const originalAuthors = originalAuthorFields.flatMap(name => readMailboxes(header, [name]))
  const isRewritten =
    originalAuthors.some(mailbox => !isSameMailbox(mailbox, author)) || viaPattern.test(readFromName(header))
  // Some lists give each author an address of their own, which reaches the author alone: `ann=example.net@lists.example`.
  const isPersonalAlias = author.local.includes('=')
  if (!isListAddress(author) && (!isRewritten || isPersonalAlias)) return author
  const replyTo = findField(signedHeader, 'reply-to') === undefined ? [] : addresses.replyTo
  // A list may have addresses at several hosts, always with the same name.
  const listNames = new Set(
    [formatMailbox(author), ...listAddresses].map(address => address.replace(/@.*$/, '').toLowerCase()),
  )
  const isPerson = ({ local }: Mailbox) => !listNames.has(local.toLowerCase())
  const [person, otherPerson] = replyTo.filter(isPerson)
  if (person) return otherPerson ? undefined : person
  return originalAuthorFields.flatMap(name => readMailboxes(signedHeader, [name])).find(isPerson)
}

/** Returns the mailboxes that reach all members of the list, in lower case, as far as the header shows them. */
function listPostingAddresses({ header, addresses: { author, to, cc } }: ListMail): ReadonlySet<string> {
  const postingAddresses = readMailboxes(header, postingFields)
  const commandedLists = readMailboxes(header, commandFields).flatMap(findListOfCommandMailbox)
  const listIdAddresses = fieldValues(header, 'list-id').flatMap(readListId)
  const recipients = [...to, ...cc]
  const isRecipient = (mailbox: Mailbox) => recipients.some(recipient => isSameMailbox(recipient, mailbox))
  // An address in From that is also a recipient is the list. Its other fields may name another host, or no mailbox. If
  // the posting address of the list is a recipient too, the author has only sent themselves a copy.
  const isCopyToSelf = postingAddresses.some(mailbox => !isSameMailbox(mailbox, author) && isRecipient(mailbox))
  const listInFrom = isRecipient(author) && !isCopyToSelf ? [author] : []
  return new Set([
    ...[...postingAddresses, ...commandedLists, ...listInFrom].map(mailbox => formatMailbox(mailbox).toLowerCase()),
    ...listIdAddresses.map(address => address.toLowerCase()),
  ])
}

/** Reads the names and comments of From, without its mailboxes. */
function readFromName(header: HeaderBlock): string {
  return (readHeaderText(header, 'from') ?? '').slice(0, maxFieldChars).replace(/[^\s<>]+@[^\s<>]+/g, ' ')
}

/** Reads a List-Id such as `team.list.example`, which joins the list's name and its host (RFC 2919 §2). */
function readListId(value: string): string[] {
  const id = /<([^<>\s]+)>\s*$/.exec(value)?.[1] ?? value.trim()
  const dot = id.indexOf('.')
  return dot > 0 ? [`${id.slice(0, dot)}@${id.slice(dot + 1)}`] : []
}
