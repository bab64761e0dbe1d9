import { createHash } from 'node:crypto'
import type { Intake, TurnBudget } from '@postern/core'
import { formatMailbox } from '../addresses/mailbox.ts'
import type { AnswerBudgets } from '../config/answers.ts'
import type { ProvenMail } from '../proven/mail.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** No person reads an answer and writes another mail in less time. */
const swiftMs = 10_000

/** The kind of the answer. */
interface Budgeted {
  readonly agent: string
  /** A hash of the words. */
  readonly words: string
  /** Others are answered too. */
  readonly isToAll: boolean
}

/**
 * Limits that stop machines which do not declare themselves, and mail to people who never wrote: a forged author would
 * have the answers sent to a stranger.
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
      // A sender who only claims a name must not use up the budget of its owner.
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

/** The words, without the parts that differ from mail to mail. */
export function hashWords({ body }: ProvenMail): string {
  const hash = createHash('sha256').update(body.text.replace(/\s+/g, ' ').trim())
  for (const { digest } of body.files) hash.update(digest)
  return hash.digest('base64url').slice(0, 22)
}
