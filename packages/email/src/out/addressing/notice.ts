import type { Addressing, AgentDirectory, PostAction } from '@postern/core'
import { formatMailbox, parseMailbox } from '../../addresses/mailbox.ts'
import { findRecipient } from '../../addresses/recipients.ts'
import { replyAlias } from '../../tokens/address-tokens.ts'
import { packTarget } from './target.ts'

/** A mail of the gateway's own to one who may never have written; undefined for what is no mailbox, or one of our agents'. Pure. */
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
