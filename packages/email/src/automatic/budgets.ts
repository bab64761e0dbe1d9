import { createHash } from 'node:crypto'
import type { Intake, TurnBudget } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { AnswerBudgets } from '../config/answers.ts'
import type { ProvenMail } from '../proven/mail.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** After an answer of ours nobody has read it and written another mail so soon. */
const swiftMs = 10_000

/** What an answer would be. */
interface Budgeted {
  readonly agent: string
  /** What the mail says, hashed. */
  readonly words: string
  /** Others are answered too. */
  readonly isToAll: boolean
}

/**
 * What keeps machines that do not say so from talking for ever, and us from mailing people who never wrote: whoever forges an author has his
 * answers sent to a stranger.
 */
export function planBudgets(
  mail: ProvenMail,
  { agent, words, isToAll }: Budgeted,
  budgets: AnswerBudgets,
): Pick<Intake, 'quota' | 'budgets'> {
  const { addresses, authentication } = mail
  const pair = `${agent} ${formatMailbox(addresses.author).toLowerCase()}`
  const verdict = authentication.isVerified ? 'v' : 'u'
  const unverified: TurnBudget[] = [
    { key: `unproven ${pair}`, turns: budgets.unverified_per_day, withinMs: dayMs, flag: 'backscatter_budget' },
    { key: 'unproven', turns: budgets.unverified_per_hour, withinMs: hourMs, flag: 'backscatter_budget' },
  ]
  const toAll: TurnBudget[] = [
    {
      key: `to all ${agent} ${addresses.author.domain}`,
      turns: budgets.reply_all_per_hour,
      withinMs: hourMs,
      flag: 'reply_all_budget',
    },
  ]
  return {
    quota: { turns: budgets.rapid_per_hour, withinMs: hourMs, swiftMs },
    budgets: [
      // Whoever only claims a name must not use up what its owner may have.
      {
        key: `answers ${verdict} ${pair}`,
        turns: budgets.correspondent_per_hour,
        withinMs: hourMs,
        flag: 'correspondent_budget',
      },
      ...perThread('hour', budgets.thread_per_hour, hourMs, 'thread_budget'),
      ...perThread('day', budgets.thread_per_day, dayMs, 'thread_budget'),
      ...perThread(`said ${words}`, budgets.repeats_per_hour, hourMs, 'repeated'),
      ...(authentication.isVerified ? [] : unverified),
      ...(isToAll ? toAll : []),
    ],
  }
}

function perThread(key: string, turns: number, withinMs: number, flag: string): readonly TurnBudget[] {
  return [{ key, turns, withinMs, flag, isPerThread: true }]
}

/** What is said, without what differs from mail to mail. */
export function hashWords({ body }: ProvenMail): string {
  const hash = createHash('sha256').update(body.text.replace(/\s+/g, ' ').trim())
  for (const { digest } of body.files) hash.update(digest)
  return hash.digest('base64url').slice(0, 22)
}
