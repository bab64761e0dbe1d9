// Chooses the mailbox for replies to a mail: its author, or somebody whom the author may name.
import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { readAgentMail } from '../automatic/agent-mail.ts'
import { isListMail } from '../automatic/field-rules.ts'
import { findListAuthor } from '../automatic/list-author.ts'
import { isUnattended } from '../automatic/unattended-mailbox.ts'
import { findField } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { findRecipient } from '../mail/recipients.ts'
import { alignsWithoutPolicy } from '../policy/alignment.ts'

/** The mailbox for replies to a mail. */
export interface ReplyAddress {
  readonly mailbox: string
  readonly name?: string | undefined
  /** The sender that named this person: a list or a form. The person has proven nothing. */
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
 * Returns the destination of answers. A sender who may write to the agent must not redirect its answers. So Reply-To
 * counts only within the proven domain or where the operator allows it, and only if the author's proof covers it,
 * because anyone can add a Reply-To to a mail that they once received. In mail of a list, Reply-To does not count,
 * because many lists put their own address there.
 */
export function chooseReplyAddress(mail: ProvenMail, rules: ReplyRules): ReplyAddress {
  const { author, replyTo } = mail.addresses
  const replyMailbox = replyTo[0]
  const flags = replyMailbox && formatMailbox(replyMailbox) !== formatMailbox(author) ? ['reply_to_diverted'] : []
  if (isListMail(mail) && !readAgentMail(mail, rules.maxHops)) return chooseListAuthor(mail, flags, rules)
  if (!replyMailbox || flags.length === 0) return toReplyAddress(author, [])
  if (!hasProvenReplyTo(mail) || replyTo.length > 1) return toReplyAddress(author, flags)
  const isAllowed = isRelatedMailbox(replyMailbox, author) || isListed(replyMailbox, rules.config.reply_to_allow)
  if (isAllowed) return toReplyAddress(replyMailbox, [])
  const isVisitor = isListed(author, rules.config.reply_to_from) && mayGetMail(replyMailbox, rules)
  return isVisitor ? { ...toReplyAddress(replyMailbox, []), namedBy: 'form' } : toReplyAddress(author, flags)
}

/**
 * Returns the author of a list's mail. If the list itself is in From, the author is the person whom the list names. If
 * it names nobody, there is no author to reply to.
 */
function chooseListAuthor(mail: ProvenMail, flags: readonly string[], rules: ReplyRules): ReplyAddress {
  const { author } = mail.addresses
  const person = findListAuthor(mail)
  if (person === author) return toReplyAddress(author, flags)
  if (!person || !mayGetMail(person, rules)) return { ...toReplyAddress(author, flags), mayReachList: true }
  return { ...toReplyAddress(person, []), namedBy: 'list' }
}

function toReplyAddress(mailbox: Mailbox, flags: readonly string[]): ReplyAddress {
  return { mailbox: formatMailbox(mailbox), ...(mailbox.name && { name: mailbox.name }), flags }
}

function hasProvenReplyTo({ authentication, signedHeader }: ProvenMail): boolean {
  return authentication.isVerified && findField(signedHeader, 'reply-to') !== undefined
}

function mayGetMail(person: Mailbox, { agents }: ReplyRules): boolean {
  return !isUnattended(person) && findRecipient(formatMailbox(person), agents) === undefined
}

function isRelatedMailbox({ domain }: Mailbox, author: Mailbox): boolean {
  return alignsWithoutPolicy(domain, author.domain) || alignsWithoutPolicy(author.domain, domain)
}

/** Returns true if a list of mailboxes and domains names a mailbox. */
export function isListed(person: Mailbox, allowedEntries: readonly string[]): boolean {
  const address = formatMailbox(person).toLowerCase()
  return allowedEntries.some(
    text => text.toLowerCase() === address || text.replace(/^@/, '').toLowerCase() === person.domain,
  )
}
