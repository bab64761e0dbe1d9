// Plans the mail that an agent writes to people first.
import type { ActRefusal, PostAction } from '@postern/message'
import { refuseAct } from '@postern/message'
import type { Addressing, AgentDirectory } from '@postern/pipeline'
import { isUnattended } from '../automatic/unattended-mailbox.ts'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'
import { findRecipient } from '../mail/recipients.ts'
import { packTarget } from '../outgoing/target.ts'
import { scopeOfMailbox } from '../outgoing/thread-scope.ts'
import { replyAlias } from '../tokens/address-tokens.ts'
import type { UnaskedRules } from './unasked-rules.ts'
import { findUnaskedObstacle } from './unasked-rules.ts'

interface DirectMessageRules {
  readonly agents: AgentDirectory
  readonly unasked: UnaskedRules
  /**
   * The correspondents among the people. If it is absent, they are not known yet, and every mailbox counts as a
   * correspondent.
   */
  readonly correspondents?: ReadonlySet<string> | undefined
}

/** The maximum number of recipients. A message to more people would be a mailing. */
const maxRecipients = 20

/**
 * Plans the deliveries of an agent's own message to the people it mentions, or refuses it if the operator allows none
 * of them. The reply of a single recipient continues the thread. The function is pure.
 */
export function addressDirectMessage(
  { agent, response, chain }: PostAction,
  rules: DirectMessageRules,
): Addressing | ActRefusal {
  const { agents } = rules
  const mentions = (response.mentions ?? []).map(mention => readMention(mention, rules))
  const mailboxes = [...new Set(mentions.flatMap(({ mailbox }) => mailbox ?? []))]
  const people = mailboxes.slice(0, maxRecipients)
  const omission =
    mentions.find(({ refusal }) => refusal !== undefined)?.refusal ??
    (mailboxes.length > maxRecipients ? tooManyRecipientsRefusal : undefined)
  const [mailbox, ...also_to] = people
  if (mailbox === undefined) return omission ?? noRecipientRefusal
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
    ...(also_to.length === 0 && { scope: scopeOfMailbox(mailbox) }),
    ...(omission && { refusal: omission }),
  }
}

const tooManyRecipientsRefusal = refuseAct(
  'forbidden',
  `Cannot post by email to more than ${maxRecipients} people at once`,
)
const noRecipientRefusal = refuseAct(
  'no_recipient',
  'Cannot post by email: it names nobody. Name whom it is for in "mentions"',
)

/** The mailbox of a mentioned person, or the refusal to write to that person. */
interface MentionResult {
  readonly mailbox?: string
  readonly refusal?: ActRefusal
}

function readMention(text: string, { agents, unasked, correspondents }: DirectMessageRules): MentionResult {
  const refuse = (code: ActRefusal['code'], reason: string, key?: string) => {
    return { refusal: refuseAct(code, `Cannot post by email to ${JSON.stringify(text.slice(0, 320))}: ${reason}`, key) }
  }
  const mailbox = parseMailbox(text.replace(/^@/, ''))
  if (!mailbox) return refuse('malformed', 'it is no address of a mailbox')
  const address = formatMailbox(mailbox)
  if (findRecipient(address, agents)) return refuse('forbidden', 'it is an agent of this gateway. Call it instead')
  const obstacle = findUnaskedObstacle(mailbox, unasked, correspondents)
  if (obstacle) return refuse('forbidden', obstacle.reason, obstacle.key)
  return isUnattended(mailbox) ? refuse('no_recipient', 'nobody reads that mailbox') : { mailbox: address }
}

/**
 * Plans the gateway's own mail to a mailbox that may never have written. It returns undefined for a text that is no
 * mailbox, or for an agent's address. The function is pure.
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
