// Describes the target of a response to a mail: subject, thread and recipients.

import type { AgentChain } from '@postern/message'
import type { AgentDirectory } from '@postern/pipeline'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isListMail } from '../automatic/field-rules.ts'
import type { EmailConfig } from '../config.ts'
import type { MailThread } from '../intake/thread.ts'
import { findField } from '../mail/header.ts'
import { readHeaderText } from '../mail/header-text.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { findOtherRecipients } from '../outgoing/other-recipients.ts'
import type { ReplyAddress } from '../outgoing/reply-address.ts'
import type { ParsedTag } from '../tokens/address-tokens.ts'

/** Returns the people in To and Cc who also get the response. */
export function listOtherRecipients(
  mail: ProvenMail,
  reply: ReplyAddress,
  { agents, config }: { readonly agents: AgentDirectory; readonly config: Pick<EmailConfig, 'reply_all'> },
): readonly string[] {
  if (!config.reply_all || isListMail(mail) || reply.namedBy) return []
  return findOtherRecipients(mail, agents).filter(recipient => recipient !== reply.mailbox)
}

interface ReplyRecipients {
  readonly otherRecipients: readonly string[]
  readonly scope: string
  readonly chain: AgentChain | undefined
  readonly isSilent: boolean
}

/** Describes the recipients of a response. */
export function describeReply(
  { mailbox, name }: ReplyAddress,
  { otherRecipients, scope, chain, isSilent }: ReplyRecipients,
) {
  return {
    mailbox,
    ...(name && { name }),
    others: [...otherRecipients],
    scope,
    ...(chain && { hop: chain.hop, max_hops: chain.max_hops }),
    ...(isSilent && { is_silent: true }),
  }
}

/**
 * Lists the references. The response that the token of the recipient address names comes before the references of the
 * mail program.
 */
export function listReferences({ references }: MailThread, { token }: ParsedTag): readonly string[] {
  return token?.kind === 'reply' ? [token.alias, ...references] : references
}

/** Names the person who began a conversation of several people. */
export function describeInitiator({ addresses: { author } }: ProvenMail, otherRecipients: readonly string[]) {
  return otherRecipients.length > 0 ? { begunBy: `mailto:${formatMailbox(author).toLowerCase()}` } : {}
}

/** Describes the subject and the thread of a response. */
export function describeTarget({ header }: ProvenMail, thread: MailThread, { tag }: ParsedTag) {
  const topic = readHeaderText(header, 'thread-topic')
  const index = findField(header, 'thread-index')
  return {
    subject: readHeaderText(header, 'subject'),
    ...(thread.messageId && { message_id: thread.messageId }),
    references: thread.references.filter(id => !thread.aliases.includes(id)),
    ...(topic && { thread_topic: topic }),
    ...(index && index.length <= 1024 && { thread_index: index }),
    ...(tag && { tag }),
  }
}
