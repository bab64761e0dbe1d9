// Notifies authors of encrypted mail that an agent cannot read it.
import { createHash } from 'node:crypto'
import type { NormalizedResponse, System } from '@postern/message'
import type { Delivery, PlannedDelivery, SingleUseStore } from '@postern/pipeline'
import type { Authentication } from '../authenticate/verdict.ts'
import { matchFieldRules } from '../automatic/field-rules.ts'
import type { MailBody } from '../body/mail-body.ts'
import type { MailThread } from '../intake/thread.ts'
import type { UnprovenMail } from '../intake/unproven-mail.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import { replyAlias } from '../tokens/address-tokens.ts'
import type { MailTarget } from './target.ts'
import { packTarget } from './target.ts'

const dayMs = 24 * 3_600_000
/** The time for which a conversation remembers that its author was notified, ms. */
const threadNoticeMs = 90 * dayMs

/** The flags of mail that may have no readable text. */
export const encryptedFlags: ReadonlySet<string> = new Set(['pgp_encrypted', 'smime_encrypted'])
const noticeText = 'This is an automatic reply: I cannot read encrypted mail. Please write to me without encryption.'

/** An encrypted mail, as far as the notice depends on it. */
export interface UnreadableMail extends Pick<UnprovenMail, 'header' | 'recipients' | 'addresses' | 'isReport'> {
  readonly authentication: Pick<Authentication, 'isVerified'>
  readonly body: Pick<MailBody, 'text'>
  readonly thread: Pick<MailThread, 'rootId'>
}

/**
 * Returns the agents that notify the author of an encrypted mail that it could not be read. The author must be proven and must have written it
 * personally. They are notified once per conversation, and once a day by one agent (RFC 3834 §2). A later check leaves out authors whom the agent
 * would not answer.
 */
export async function chooseNotifyingAgents(
  mail: UnreadableMail,
  system: SingleUseStore & Pick<System, 'now'>,
): Promise<ReadonlySet<string>> {
  const { header, recipients, addresses, authentication, body, thread, isReport } = mail
  const mayNotify = authentication.isVerified && !isReport && matchFieldRules(header).length === 0
  if (!mayNotify || removeEncryptedBlocks(body.text) !== '') return new Set()
  const notifiedAgents: string[] = []
  for (const { agent } of recipients) {
    const noticeKey = `unreadable ${agent} ${addresses.author.local.toLowerCase()}@${addresses.author.domain}`
    const isFirstInThread = await system.consumeOnce(`${noticeKey} ${thread.rootId}`, system.now() + threadNoticeMs)
    if (isFirstInThread && (await system.consumeOnce(noticeKey, system.now() + dayMs))) notifiedAgents.push(agent)
  }
  return new Set(notifiedAgents)
}

/** Returns the text of a mail without its encrypted blocks. */
function removeEncryptedBlocks(text: string): string {
  return text.replace(/-----BEGIN PGP MESSAGE-----[\s\S]*?(?:-----END PGP MESSAGE-----|$)/g, '').trim()
}

/**
 * Notices that are sent together with the admission of the mail, and the ids by which replies find the conversation.
 */
interface PlannedNotice {
  readonly deliveries: readonly PlannedDelivery[]
  readonly aliases: readonly string[]
}

/** The plan without a notice. */
export const noNotice: PlannedNotice = { deliveries: [], aliases: [] }

interface NoticePlan {
  /** The target of a response to the mail. */
  readonly target: MailTarget
  readonly duplicateKey: string
  /** The domain of the agents. */
  readonly domain: string
}

/**
 * Plans a notice to the author alone, regardless of the recipients of responses, because no agent wrote it. The
 * function is pure: the same mail produces the same notice.
 */
export function planUnreadableNotice(
  { addresses: { author } }: Pick<UnreadableMail, 'addresses'>,
  { target, duplicateKey, domain }: NoticePlan,
): PlannedNotice {
  const mailbox = formatMailbox(author)
  const notice = createHash('sha256').update(`unreadable ${duplicateKey}`).digest('hex').slice(0, 32)
  const { others: _, ...authorTarget } = target
  const plannedDelivery = { to: mailbox, target: packTarget({ ...authorTarget, mailbox, recipient: mailbox, notice }) }
  return { deliveries: [plannedDelivery], aliases: [`${notice}@${domain}`, replyAlias(notice)] }
}

/**
 * Describes a delivery that is a notice as a response to the mail, or returns undefined for any other delivery. The
 * function is pure.
 */
export function describeNotice({ message }: Delivery, { notice }: MailTarget): NormalizedResponse | undefined {
  if (notice === undefined) return undefined
  const { id, thread_id, recipient, received_at } = message
  return {
    id: notice,
    thread_id,
    in_reply_to: id,
    sender: recipient,
    parts: [{ kind: 'text', mime: 'text/plain', content: noticeText }],
    status: 'completed',
    created_at: received_at,
  }
}
