import type { Addressing, AgentDirectory, PostAction } from '@postern/core'
import { formatMailbox, parseMailbox } from '../../addresses/mailbox.ts'
import { findRecipient } from '../../addresses/recipients.ts'
import { replyAlias } from '../../tokens/address-tokens.ts'
import { packTarget } from './target.ts'

/**
 * The gateway's own mail to a mailbox that may never have written. Undefined for a text that is no mailbox, or for an
 * agent's address. Pure.
 */
export function addressMailNotice({ response }: PostAction, agents: AgentDirectory): Addressing | undefined {
  const [mention = ''] = response.mentions ?? []
  const mailbox = parseMailbox(mention.replace(/^@/, ''))
  const recipient = mailbox && formatMailbox(mailbox)
  if (!recipient || findRecipient(recipient, agents)) return undefined
  const target = packTarget({ mailbox: recipient, recipient, subject: response.subject ?? '', references: [] })
  return {
    deliveries: [{ to: recipient, target }],
    aliases: [`${response.id}@${agents.domain}`, replyAlias(response.id)],
  }
}
