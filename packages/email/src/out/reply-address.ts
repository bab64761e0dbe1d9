// Chooses the mailbox for replies to a mail: its author, or somebody whom the author may name.
import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { readAgentMail } from '../automatic/agent-mail.ts'
import { isListMail } from '../automatic/field-rules.ts'
import { findListAuthor } from '../automatic/list-author.ts'
import { isUnread } from '../automatic/unread-mailbox.ts'
import { findField } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { findRecipient } from '../mail/recipients.ts'
import { alignsWithoutPolicy } from '../policy/alignment.ts'

export interface ReplyAddress {
  readonly mailbox: string
  readonly name?: string | undefined
  /** Set if a list or a form has written for this person, who has proven nothing. */
  readonly namedBy?: 'form' | 'list' | undefined
  /** True if the mailbox may be the list itself, which gets no response. */
  readonly mayReachList?: boolean | undefined
  readonly flags: readonly string[]
}

interface ReplyRules {
  readonly agents: AgentDirectory
  readonly maxHops: number
  readonly config: { readonly reply_to_allow: readonly string[]; readonly reply_to_from: readonly string[] }
}

/**
 * Returns the destination of answers. A sender who may write to the agent must not redirect its answers. So Reply-To counts only within the proven
 * domain or where the operator allows it, and only if the author's proof covers it, because anyone can add one to a mail that they once received. In
 * mail of a list it does not count, because many lists put their own address there.
 */
export function chooseReplyAddress(mail: ProvenMail, rules: ReplyRules): ReplyAddress {
  const { author, replyTo } = mail.addresses
  const replyMailbox = replyTo[0]
  const flags = replyMailbox && formatMailbox(replyMailbox) !== formatMailbox(author) ? ['reply_to_diverted'] : []
  if (isListMail(mail) && !readAgentMail(mail, rules.maxHops)) return chooseListAuthor(mail, flags, rules)
  if (!replyMailbox || flags.length === 0) return toReplyAddress(author, [])
  if (!hasProvenReplyTo(mail) || replyTo.length > 1) return toReplyAddress(author, flags)
  const isKnown = isRelatedMailbox(replyMailbox, author) || isNamedBy(replyMailbox, rules.config.reply_to_allow)
  if (isKnown) return toReplyAddress(replyMailbox, [])
  const isVisitor = isNamedBy(author, rules.config.reply_to_from) && mayBeWrittenTo(replyMailbox, rules)
  return isVisitor ? { ...toReplyAddress(replyMailbox, []), namedBy: 'form' } : toReplyAddress(author, flags)
}

/** Returns the author of a list's mail. If the list itself is in From, this is the person whom it names, or nobody. */
function chooseListAuthor(mail: ProvenMail, flags: readonly string[], rules: ReplyRules): ReplyAddress {
  const { author } = mail.addresses
  const person = findListAuthor(mail)
  if (person === author) return toReplyAddress(author, flags)
  if (!person || !mayBeWrittenTo(person, rules)) return { ...toReplyAddress(author, flags), mayReachList: true }
  return { ...toReplyAddress(person, []), namedBy: 'list' }
}

function toReplyAddress(mailbox: Mailbox, flags: readonly string[]): ReplyAddress {
  return { mailbox: formatMailbox(mailbox), ...(mailbox.name && { name: mailbox.name }), flags }
}

function hasProvenReplyTo({ authentication, signedHeader }: ProvenMail): boolean {
  return authentication.isVerified && findField(signedHeader, 'reply-to') !== undefined
}

function mayBeWrittenTo(person: Mailbox, { agents }: ReplyRules): boolean {
  return !isUnread(person) && findRecipient(formatMailbox(person), agents) === undefined
}

function isRelatedMailbox({ domain }: Mailbox, author: Mailbox): boolean {
  return alignsWithoutPolicy(domain, author.domain) || alignsWithoutPolicy(author.domain, domain)
}

/** Returns true if a list of mailboxes and domains names a mailbox. */
export function isNamedBy(person: Mailbox, allowedEntries: readonly string[]): boolean {
  const address = formatMailbox(person).toLowerCase()
  return allowedEntries.some(
    text => text.toLowerCase() === address || text.replace(/^@/, '').toLowerCase() === person.domain,
  )
}
