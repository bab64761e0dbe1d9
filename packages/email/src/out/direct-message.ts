import type { Addressing, AgentDirectory, PostAction } from '@postern/core'
import { isUnread } from '../automatic/marks.ts'
import { findRecipient, formatMailbox, parseMailbox, replyAlias } from '../mail/addresses.ts'
import { isNamedBy, packTarget } from './target.ts'

interface DirectMessageRules {
  readonly agents: AgentDirectory
  /** Mailboxes and domains that agents may write to unasked. */
  readonly allowed: readonly string[]
}

/** More people would be a mailing. */
const maxRecipients = 20

/**
 * An agent's own message to the people it mentions; undefined when the operator allows none of them. The answer of a
 * single recipient returns to its thread. Pure.
 */
export function addressDirectMessage(
  { agent, response, chain }: PostAction,
  rules: DirectMessageRules,
): Addressing | undefined {
  const people = findPeople(response.mentions ?? [], rules)
  const [mailbox, ...also_to] = people
  if (mailbox === undefined) return undefined
  const { agents } = rules
  const target = {
    mailbox,
    also_to,
    subject: response.subject ?? `A message from ${agents.find(agent)?.displayName ?? agent}`,
    references: [],
    is_letter: true,
    ...(chain && { hop: chain.hop, max_hops: chain.max_hops }),
  }
  return {
    deliveries: people.map(recipient => ({ to: recipient, target: packTarget({ ...target, recipient }) })),
    aliases: [`${response.id}@${agents.domain}`, replyAlias(response.id)],
    ...(also_to.length === 0 && { scope: `v:${mailbox}` }),
  }
}

function findPeople(mentions: readonly string[], { agents, allowed }: DirectMessageRules): readonly string[] {
  const mailboxes = mentions.flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const people = mailboxes
    .filter(mailbox => isNamedBy(mailbox, allowed) && !isUnread(mailbox))
    .map(formatMailbox)
    .filter(address => !findRecipient(address, agents))
  return [...new Set(people)].slice(0, maxRecipients)
}

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
