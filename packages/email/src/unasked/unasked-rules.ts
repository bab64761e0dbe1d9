// Decides to whom agents may write first: mailboxes that the operator lists, and correspondents if the operator allows
// them.
import type { ActRefusal } from '@postern/message'
import { isPersonal, refuseAct } from '@postern/message'
import type { AnsweredTurn, ChannelContext } from '@postern/pipeline'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'
import { isListed } from '../outgoing/reply-address.ts'
import { readTarget } from '../outgoing/target.ts'
import { scopeOfMailbox } from '../outgoing/thread-scope.ts'

/** The entry of `email.write_to` that stands for proven people who wrote to the agent themselves. */
const correspondents = 'correspondents'
const dayMs = 86_400_000

/** The operator's rules for unasked mail. */
export interface UnaskedRules {
  /** The allowed mailboxes and domains, and `correspondents`. */
  readonly write_to: readonly string[]
  readonly write_to_days: number
}

/**
 * Returns the reason why an agent may not write to a mailbox, and the configuration key that would allow it. It returns
 * undefined if the agent may write. `agentCorrespondents` are the correspondents of the agent. If they are undefined,
 * every mailbox counts as a correspondent.
 */
export function findUnaskedObstacle(
  mailbox: Mailbox,
  { write_to, write_to_days }: UnaskedRules,
  agentCorrespondents: ReadonlySet<string> | undefined,
): { readonly reason: string; readonly key: string } | undefined {
  const address = formatMailbox(mailbox).toLowerCase()
  if (isListed(mailbox, write_to)) return undefined
  if (!write_to.includes(correspondents)) {
    const fix = 'Add the address, its domain or "correspondents" to email.write_to'
    return { reason: `the operator does not allow it. ${fix}`, key: 'email.write_to' }
  }
  if (agentCorrespondents === undefined || agentCorrespondents.has(address)) return undefined
  const rule = `${write_to_days} days (email.write_to_days)`
  return { reason: `no proven mail of theirs to this agent has come within ${rule}`, key: 'email.write_to_days' }
}

type CorrespondentDeps = Pick<ChannelContext, 'store' | 'system'>

/**
 * Creates a finder of the people who wrote to an agent within the allowed time. It returns undefined if the operator does not allow correspondents.
 */
export function createCorrespondentFinder(
  { write_to, write_to_days }: UnaskedRules,
  { store, system }: CorrespondentDeps,
): ((agent: string, mentions: readonly string[]) => Promise<ReadonlySet<string>>) | undefined {
  if (!write_to.includes(correspondents)) return undefined
  return async (agent, mentions) => {
    const oldestAt = system.now() - write_to_days * dayMs
    const queries = mentions.map(async mention => {
      const mailbox = parseMailbox(mention.replace(/^@/, ''))
      if (!mailbox) return []
      const address = formatMailbox(mailbox).toLowerCase()
      const lastWrittenAt = await store.findLastMessageTime({ agent, via: 'email', scope: scopeOfMailbox(address) })
      return lastWrittenAt !== undefined && Date.parse(lastWrittenAt) >= oldestAt ? [address] : []
    })
    return new Set((await Promise.all(queries)).flat())
  }
}

/** Refuses a further message in a conversation if the agent may not write to the author of its last message. */
export function refuseMailReply(
  { turn }: Pick<AnsweredTurn, 'turn'>,
  rules: UnaskedRules,
  now: number,
): ActRefusal | undefined {
  const { mailbox: text, is_silent, scope } = readTarget(turn.target)
  const refuse = (code: ActRefusal['code'], reason: string, key?: string) =>
    refuseAct(code, `Cannot reply by email to ${JSON.stringify(text.slice(0, 320))}: ${reason}`, key)
  const mailbox = parseMailbox(text)
  if (!mailbox || is_silent) return refuse('no_recipient', 'no person reads what is sent there')
  const { sender, received_at } = turn.content
  const isProven = sender.verified && isPersonal(turn.flags)
  const isRecent = Date.parse(received_at) >= now - rules.write_to_days * dayMs
  const address = formatMailbox(mailbox)
  // The mailbox counts as the author's only if the author wrote from it or from a linked chat account. A person whom
  // Reply-To names has not written.
  const author = parseMailbox(sender.address.replace(/^@/, ''))
  const isAuthor = scope === scopeOfMailbox(address) || (author && formatMailbox(author) === address)
  const ownCorrespondents = new Set(isAuthor && isProven && isRecent ? [address.toLowerCase()] : [])
  const obstacle = findUnaskedObstacle(mailbox, rules, ownCorrespondents)
  return obstacle && refuse('forbidden', obstacle.reason, obstacle.key)
}
