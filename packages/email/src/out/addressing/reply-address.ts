import type { Mailbox } from '../../addresses/mailbox.ts'
import { formatMailbox } from '../../addresses/mailbox.ts'
import { alignsWithoutPolicy } from '../../authenticate/signatures/alignment.ts'
import type { ProvenMail } from '../../proven/mail.ts'

export interface ReplyAddress {
  readonly mailbox: string
  readonly flags: readonly string[]
}

/**
 * An allowed sender must not redirect an agent's answers. Reply-To counts within the proven domain or where the
 * operator allows it, and only under the signature. Anyone can add one to a mail that they once received.
 */
export function chooseReplyAddress(
  { addresses, authentication }: ProvenMail,
  allowed: readonly string[],
): ReplyAddress {
  const { author, replyTo } = addresses
  const wanted = replyTo[0]
  if (!wanted || formatMailbox(wanted) === formatMailbox(author)) return { mailbox: formatMailbox(author), flags: [] }
  const isProven = authentication.isVerified && authentication.signature?.covers.includes('reply-to')
  const isKnown = isNear(wanted, author) || isNamedBy(wanted, allowed)
  if (isProven && isKnown && replyTo.length === 1) return { mailbox: formatMailbox(wanted), flags: [] }
  return { mailbox: formatMailbox(author), flags: ['reply_to_diverted'] }
}

function isNear({ domain }: Mailbox, author: Mailbox): boolean {
  return alignsWithoutPolicy(domain, author.domain) || alignsWithoutPolicy(author.domain, domain)
}

/** Whether a list of mailboxes and domains names it. */
export function isNamedBy(wanted: Mailbox, allowed: readonly string[]): boolean {
  const mailbox = formatMailbox(wanted).toLowerCase()
  return allowed.some(text => text.toLowerCase() === mailbox || text.replace(/^@/, '').toLowerCase() === wanted.domain)
}
