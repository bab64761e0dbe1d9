// Decides to whom agents may write without a question: mailboxes that the operator lists, and correspondents if the
// operator allows them.
import type { ActRefusal } from '@postern/message'
import { isPersonal, refuseAct } from '@postern/message'
import type { AnsweredTurn, ChannelContext } from '@postern/pipeline'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'
import { isNamedBy } from '../out/reply-address.ts'
import { scopeOfMailbox } from '../out/scope.ts'
import { readTarget } from '../out/target.ts'

/** The entry of `email.write_to` that stands for proven people who wrote to the agent themselves. */
const correspondents = 'correspondents'
const dayMs = 86_400_000

export interface UnaskedRules {
  /** The allowed mailboxes and domains, and `correspondents`. */
  readonly write_to: readonly string[]
  readonly write_to_days: number
}

/**
 * Returns the reason why an agent may not write to a mailbox, and the key that would allow it, or undefined if it may.
 * `ownCorrespondents` are the correspondents among the mailboxes.
 */
export function findUnaskedObstacle(
  mailbox: Mailbox,
  { write_to, write_to_days }: UnaskedRules,
  ownCorrespondents: ReadonlySet<string> | undefined,
): { readonly reason: string; readonly key: string } | undefined {
  const address = formatMailbox(mailbox).toLowerCase()
  if (isNamedBy(mailbox, write_to)) return undefined
  if (!write_to.includes(correspondents)) {
    const fix = 'Add the address, its domain or "correspondents" to email.write_to'
    return { reason: `the operator does not allow it. ${fix}`, key: 'email.write_to' }
  }
  if (ownCorrespondents === undefined || ownCorrespondents.has(address)) return undefined
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
  // The author has written, perhaps from a chat. A person in Reply-To has not.
  const author = parseMailbox(sender.address.replace(/^@/, ''))
  const isAuthor = scope === scopeOfMailbox(address) || (author && formatMailbox(author) === address)
  const ownCorrespondents = new Set(isAuthor && isProven && isRecent ? [address.toLowerCase()] : [])
  const obstacle = findUnaskedObstacle(mailbox, rules, ownCorrespondents)
  return obstacle && refuse('forbidden', obstacle.reason, obstacle.key)
}
