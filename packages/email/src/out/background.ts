import type { AgentDirectory, BackgroundEntry, Channel, ChannelContext, FoundResponse, Turn } from '@postern/core'
import { formatAddress } from '@postern/core'
import { formatMailbox, parseMailbox } from '../addresses/mailbox.ts'
import { readTarget } from './addressing/target.ts'

interface MailBackground {
  readonly store: Pick<ChannelContext['store'], 'findResponse'>
  readonly agents: AgentDirectory
  /** Whether answers quote the message that they answer. */
  readonly isQuoting: boolean
}

/** Answers that are looked up for one message. */
const maxAnswers = 10

/**
 * A recipient of an answer in Cc, because an agent named them, may write back. They are not in the answer's thread, so
 * theirs begins with the answer, and with the answered message where it was quoted or addressed to them. Everyone who
 * is answered now must have received it. Unproven authors see nothing.
 */
export function createMailBackground({
  store,
  agents,
  isQuoting,
}: MailBackground): NonNullable<Channel['fetchBackground']> {
  return async turn => {
    const answers = await Promise.all(listAnswers(turn, agents.domain).map(id => store.findResponse(id)))
    const people = [turn.content.sender.address.replace(/^@/, ''), ...(readTarget(turn.target).others ?? [])]
    const seen = answers.flatMap(found => (found && wasSentTo(people, found) ? [found] : []))
    return seen.flatMap(found => describeAnswer(found, people, { agents, isQuoting }))
  }
}

/** Ids of our responses that a proven author's message names, oldest first. */
function listAnswers({ content, target }: Turn, domain: string): readonly string[] {
  if (!content.sender.verified) return []
  const named = [...readTarget(target).references, content.in_reply_to ?? '']
  const ours = named.flatMap(id => (id.endsWith(`@${domain}`) ? (/^[0-9a-f]{32}(?=@)/.exec(id)?.[0] ?? []) : []))
  return [...new Set(ours)].slice(-maxAnswers)
}

function wasSentTo(people: readonly string[], { response, target, via, retractedAt }: FoundResponse): boolean {
  if (via !== 'email' || retractedAt !== undefined || target === null) return false
  const { mailbox, others = [] } = readTarget(target)
  const mentioned = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const reached = new Set([mailbox, ...others, ...mentioned.map(formatMailbox)])
  return people.every(who => reached.has(who))
}

function describeAnswer(
  { response, message, agent, target }: FoundResponse,
  people: readonly string[],
  { agents, isQuoting }: Pick<MailBackground, 'agents' | 'isQuoting'>,
): readonly BackgroundEntry[] {
  const asking = readTarget(target)
  const wereAsked = people.every(who => who === asking.mailbox || asking.others?.includes(who))
  const author = { address: formatAddress({ local: agent, domain: agents.domain }) }
  const answer = { nativeId: `${response.id}@${agents.domain}`, author, parts: response.parts, at: response.created_at }
  if (!isQuoting && !wereAsked) return [answer]
  const { address, display_name } = message.sender
  const asked = {
    nativeId: message.id,
    author: { address, ...(display_name && { display_name }) },
    parts: message.parts.filter(({ kind }) => kind === 'text'),
    at: message.received_at,
  }
  return [asked, answer]
}
