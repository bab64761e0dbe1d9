import { createHash } from 'node:crypto'
import type { Delivery, NormalizedResponse, OnceStore, PlannedDelivery, Platform } from '@postern/core'
import type { Authentication } from '../authenticate/verdict.ts'
import { matchFieldRules } from '../automatic/marks.ts'
import type { MailBody } from '../body/mail-body.ts'
import type { MailThread, UnprovenMail } from '../intake/intake.ts'
import { formatMailbox, replyAlias } from '../mail/addresses.ts'
import type { MailTarget } from './target.ts'
import { packTarget } from './target.ts'

const dayMs = 24 * 3_600_000
/** How long a conversation remembers that its author was told. */
const threadMs = 90 * dayMs

/** The flags of mail that may have nothing readable in it. */
export const encryptedFlags: ReadonlySet<string> = new Set(['pgp_encrypted', 'smime_encrypted'])
const text = 'This is an automatic reply: I cannot read encrypted mail. Please write to me without encryption.'

export interface UnreadableMail extends Pick<UnprovenMail, 'header' | 'recipients' | 'addresses' | 'isReport'> {
  readonly authentication: Pick<Authentication, 'isVerified'>
  readonly body: Pick<MailBody, 'text'>
  readonly thread: Pick<MailThread, 'threadId'>
}

/**
 * The agents that tell the author of an encrypted mail that it could not be read. The author must be proven and have written it
 * personally. They are told once in a conversation, and once a day by one agent (RFC 3834 §2). A later check leaves out
 * authors whom the agent would not answer.
 */
export async function chooseUnreadable(
  mail: UnreadableMail,
  platform: OnceStore & Pick<Platform, 'now'>,
): Promise<ReadonlySet<string>> {
  const { header, recipients, addresses, authentication, body, thread, isReport } = mail
  const isForUs = authentication.isVerified && !isReport && matchFieldRules(header).length === 0
  if (!isForUs || readablePart(body.text) !== '') return new Set()
  const chosen: string[] = []
  for (const { agent } of recipients) {
    const whom = `unreadable ${agent} ${addresses.author.local.toLowerCase()}@${addresses.author.domain}`
    const isFirst = await platform.consumeOnce(`${whom} ${thread.threadId}`, platform.now() + threadMs)
    if (isFirst && (await platform.consumeOnce(whom, platform.now() + dayMs))) chosen.push(agent)
  }
  return new Set(chosen)
}

/** What there is in a mail beside what is encrypted. */
function readablePart(said: string): string {
  return said.replace(/-----BEGIN PGP MESSAGE-----[\s\S]*?(?:-----END PGP MESSAGE-----|$)/g, '').trim()
}

/** The notices that go out with the acceptance itself, and the ids by which answers to them find the conversation. */
interface PlannedNotice {
  readonly deliveries: readonly PlannedDelivery[]
  readonly aliases: readonly string[]
}

/** No notice. */
export const noNotice: PlannedNotice = { deliveries: [], aliases: [] }

interface NoticePlan {
  /** Of an answer. */
  readonly target: MailTarget
  readonly duplicateKey: string
  /** Of the agents. */
  readonly domain: string
}

/** To the author alone, wherever answers would go: no agent wrote it. Pure: the same mail gives the same notice. */
export function planUnreadable(
  { addresses: { author } }: Pick<UnreadableMail, 'addresses'>,
  { target, duplicateKey, domain }: NoticePlan,
): PlannedNotice {
  const mailbox = formatMailbox(author)
  const notice = createHash('sha256').update(`unreadable ${duplicateKey}`).digest('hex').slice(0, 32)
  const { others: _, ...alone } = target
  const planned = { to: mailbox, target: packTarget({ ...alone, mailbox, recipient: mailbox, notice }) }
  return { deliveries: [planned], aliases: [`${notice}@${domain}`, replyAlias(notice)] }
}

/** The notice as what it is sent like: an answer to the mail. Undefined where the delivery is none. Pure. */
export function describeNotice({ message }: Delivery, { notice }: MailTarget): NormalizedResponse | undefined {
  if (notice === undefined) return undefined
  const { id, thread_id, recipient, received_at } = message
  return {
    id: notice,
    thread_id,
    in_reply_to: id,
    sender: recipient,
    parts: [{ kind: 'text', mime: 'text/plain', content: text }],
    status: 'completed',
    created_at: received_at,
  }
}
