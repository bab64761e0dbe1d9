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
  readonly quotesMessages: boolean
}

/** The maximum number of responses that are read for one message. */
const maxResponses = 10

/**
 * Creates the background of new conversations. A person in Cc may reply to a response. That reply is not in the thread
 * of the response, so its own thread begins with the response. The answered message comes first if the response quoted
 * it, or if all people of the new thread were its recipients. Everybody in the new thread must have received the
 * response. Unproven authors get no background.
 */
export function createMailBackground({
  store,
  agents,
  quotesMessages,
}: MailBackgroundDeps): NonNullable<ChannelConversations['fetchBackground']> {
  async function readBackground(turn: Turn, responseIds: readonly string[]): Promise<readonly BackgroundEntry[]> {
    const responses = await Promise.all(responseIds.map(id => store.findResponse(id)))
    const people = [turn.content.sender.address.replace(/^@/, ''), ...(readTarget(turn.target).others ?? [])]
    const visibleResponses = responses.flatMap(record => (record && wasSentTo(people, record) ? [record] : []))
    return visibleResponses.flatMap(record => describeExchange(record, people, { agents, quotesMessages }))
  }

  return turn => {
    const responseIds = listResponseIds(turn, agents.domain)
    return responseIds.length > 0 ? readBackground(turn, responseIds) : undefined
  }
}

/** Lists the ids of the gateway's responses to which a proven author's message refers, oldest first. */
function listResponseIds({ content, target }: Turn, domain: string): readonly string[] {
  if (!content.sender.verified) return []
  const references = [...readTarget(target).references, content.in_reply_to ?? '']
  const responseIds = references.flatMap(id =>
    id.endsWith(`@${domain}`) ? (/^[0-9a-f]{32}(?=@)/.exec(id)?.[0] ?? []) : [],
  )
  return [...new Set(responseIds)].slice(-maxResponses)
}

function wasSentTo(people: readonly string[], { response, target, via, retractedAt }: ResponseRecord): boolean {
  if (via !== 'email' || retractedAt !== undefined || target === null) return false
  const { mailbox, others = [] } = readTarget(target)
  const mentionedMailboxes = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const recipients = new Set([mailbox, ...others, ...mentionedMailboxes.map(formatMailbox)])
  return people.every(person => recipients.has(person))
}

function describeExchange(
  { response, message, agent, target }: ResponseRecord,
  people: readonly string[],
  { agents, quotesMessages }: Pick<MailBackgroundDeps, 'agents' | 'quotesMessages'>,
): readonly BackgroundEntry[] {
  const messageTarget = readTarget(target)
  const sawMessage = people.every(person => person === messageTarget.mailbox || messageTarget.others?.includes(person))
  const author = { address: formatAddress({ local: agent, domain: agents.domain }) }
  const answer = { nativeId: `${response.id}@${agents.domain}`, author, parts: response.parts, at: response.created_at }
  if (!quotesMessages && !sawMessage) return [answer]
  const { address, display_name } = message.sender
  const question = {
    nativeId: message.id,
    author: { address, ...(display_name && { display_name }) },
    parts: message.parts.filter(({ kind }) => kind === 'text'),
    at: message.received_at,
  }
  return [question, answer]
}
