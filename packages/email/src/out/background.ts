// Finds earlier responses to the author of a mail, as background of a new conversation.

import { formatAddress } from '@postern/message'
import type {
  AgentDirectory,
  BackgroundEntry,
  ChannelContext,
  ChannelConversations,
  ResponseRecord,
  Turn,
} from '@postern/pipeline'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'
import { readTarget } from './target.ts'

interface MailBackgroundDeps {
  readonly store: Pick<ChannelContext['store'], 'findResponse'>
  readonly agents: AgentDirectory
  /** True if responses quote the message that they answer. */
  readonly isQuoting: boolean
}

/** The responses that are read for one message. */
const maxAnswers = 10

/**
 * Creates the background of new conversations. A recipient in Cc, whom an agent has named, may write back. That mail is
 * not in the thread of the response, so its own thread begins with the response, and with the answered message if that
 * was quoted or addressed to its author. Every recipient of the new response must have received the earlier one.
 * Unproven authors see nothing.
 */
export function createMailBackground({
  store,
  agents,
  isQuoting,
}: MailBackgroundDeps): NonNullable<ChannelConversations['fetchBackground']> {
  return async turn => {
    const answers = await Promise.all(listAnswers(turn, agents.domain).map(id => store.findResponse(id)))
    const people = [turn.content.sender.address.replace(/^@/, ''), ...(readTarget(turn.target).others ?? [])]
    const visibleAnswers = answers.flatMap(answer => (answer && wasSentTo(people, answer) ? [answer] : []))
    return visibleAnswers.flatMap(answer => describeAnswer(answer, people, { agents, isQuoting }))
  }
}

/** Lists the ids of the gateway's responses that a proven author's message names, oldest first. */
function listAnswers({ content, target }: Turn, domain: string): readonly string[] {
  if (!content.sender.verified) return []
  const references = [...readTarget(target).references, content.in_reply_to ?? '']
  const responseIds = references.flatMap(id =>
    id.endsWith(`@${domain}`) ? (/^[0-9a-f]{32}(?=@)/.exec(id)?.[0] ?? []) : [],
  )
  return [...new Set(responseIds)].slice(-maxAnswers)
}

function wasSentTo(people: readonly string[], { response, target, via, retractedAt }: ResponseRecord): boolean {
  if (via !== 'email' || retractedAt !== undefined || target === null) return false
  const { mailbox, others = [] } = readTarget(target)
  const mentionedMailboxes = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const recipients = new Set([mailbox, ...others, ...mentionedMailboxes.map(formatMailbox)])
  return people.every(person => recipients.has(person))
}

function describeAnswer(
  { response, message, agent, target }: ResponseRecord,
  people: readonly string[],
  { agents, isQuoting }: Pick<MailBackgroundDeps, 'agents' | 'isQuoting'>,
): readonly BackgroundEntry[] {
  const askingTarget = readTarget(target)
  const areRecipients = people.every(person => person === askingTarget.mailbox || askingTarget.others?.includes(person))
  const author = { address: formatAddress({ local: agent, domain: agents.domain }) }
  const answer = { nativeId: `${response.id}@${agents.domain}`, author, parts: response.parts, at: response.created_at }
  if (!isQuoting && !areRecipients) return [answer]
  const { address, display_name } = message.sender
  const question = {
    nativeId: message.id,
    author: { address, ...(display_name && { display_name }) },
    parts: message.parts.filter(({ kind }) => kind === 'text'),
    at: message.received_at,
  }
  return [question, answer]
}
