import type { Refusal, TurnAttempt } from '@postern/core'
import { isoTime } from '@postern/core'
import { z } from 'zod'
import type { WhyFacts } from './facts.ts'
import type { Evidence, Reason } from './reason.ts'
import { quoteLine, sayCount } from './reason.ts'
import { reasonOf } from './reasons.ts'
import { describeDelivery } from './rules/delivery.ts'
import { reasonOfRefusal } from './rules/refused.ts'

const instant = z.string().describe('ISO 8601 UTC.')

const explanationSchema = z
  .object({
    kind: z.enum(['message', 'refusal', 'nothing']),
    message: z.int().optional().describe('The gateway’s number of the message.'),
    id: z.string().optional().describe('The peer’s id of it.'),
    via: z.string().optional().describe('Channel.'),
    agent: z.string().optional(),
    sender: z.string().optional().describe('Address of the sender; of a refusal, as it claims.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('What happened, why and since when, in one line.'),
    since: instant,
    evidence: z
      .array(z.object({ at: instant.optional(), fact: z.string() }))
      .readonly()
      .describe('What the gateway observed, oldest first; facts without a time come last.'),
    fix: z
      .object({ text: z.string(), command: z.string().optional().describe('To copy.') })
      .optional()
      .describe('What to do; absent when there is nothing to fix.'),
  })
  .meta({ id: 'Explanation' })

/** The answer to one question. */
export const whyAnswerSchema = z
  .object({
    asked: z.string(),
    found: z.enum(['id', 'message', 'delivery', 'address', 'refusal', 'nothing']).describe('The words that found it.'),
    explanations: z
      .array(explanationSchema)
      .readonly()
      .describe('Best first: of an id the message, of an address the newest.'),
  })
  .meta({ id: 'WhyAnswer' })

export type WhyAnswer = Readonly<z.infer<typeof whyAnswerSchema>>
export type Explanation = Readonly<z.infer<typeof explanationSchema>>

/** `refusals`: earlier tries of the same id. */
export function explainMessage(facts: WhyFacts, refusals: readonly Refusal[]): Explanation {
  const { message, now } = facts
  const reason = reasonOf(facts)
  const earlier = refusals.map(refusal => ({
    at: Date.parse(refusal.at),
    fact: reasonOfRefusal(refusal, now).sentence,
  }))
  return {
    kind: 'message',
    message: message.number,
    id: message.id,
    via: message.channel,
    agent: message.agent,
    sender: message.sender,
    ...writeReason(reason, [...describeMessage(facts), ...earlier, ...describeWork(facts)]),
  }
}

export function explainRefusal(refusal: Refusal, now: number): Explanation {
  return {
    kind: 'refusal',
    id: refusal.peer_id,
    via: refusal.via,
    agent: refusal.agent,
    sender: refusal.claimed_sender,
    ...writeReason(reasonOfRefusal(refusal, now), []),
  }
}

/** It never came, it was not kept, or it is long ago. */
export function explainNothing(asked: string, now: number): Explanation {
  const evidence = [
    { fact: 'no message, answer, delivery or requirement has this id or number' },
    { fact: 'among the newest 10,000 entries nothing came from or to this address' },
    { fact: 'what is well formed and names no agent here is taken and not kept, such as a post without a mention' },
    { fact: 'none of the refusals that are remembered (the newest 10,000) names it' },
  ]
  return {
    kind: 'nothing',
    code: 'nothing_known',
    sentence: `Nothing is known of ${quoteLine(asked)}: it never came here, or it was deleted since`,
    since: isoTime(now),
    evidence,
    fix: {
      text: "See whether the sender's server reached this gateway at all: its own log, DNS, the port, the address that was written to.",
      command: 'npx postern doctor',
    },
  }
}

function writeReason({ code, sentence, since, evidence = [], fix }: Reason, facts: readonly Evidence[]) {
  const told = [...facts, ...evidence].toSorted(
    (one, other) => (one.at ?? Number.POSITIVE_INFINITY) - (other.at ?? Number.POSITIVE_INFINITY),
  )
  return {
    code,
    sentence,
    since: isoTime(since),
    evidence: told.map(({ at, fact }) => ({ ...(at !== undefined && { at: isoTime(at) }), fact })),
    ...(fix && { fix }),
  }
}

/** How it came. */
function describeMessage({ message }: WhyFacts): readonly Evidence[] {
  const { sentAt, receivedAt, channel, sender, isVerified, recipient, flags, duplicates } = message
  const proof = isVerified ? 'proven' : 'not proven'
  return [
    ...(sentAt === undefined ? [] : [{ at: sentAt, fact: 'its peer sent it, as it claims' }]),
    { at: receivedAt, fact: `received by ${channel} from ${sender} (${proof}) for ${recipient}` },
    ...(flags.length > 0 ? [{ fact: `flags: ${flags.join(', ')}` }] : []),
    ...(duplicates > 0 ? [{ fact: `its peer sent it ${sayCount(duplicates, 'more time')}` }] : []),
  ]
}

/** What became of it. */
function describeWork({ turn, answer, deliveries, requirements }: WhyFacts): readonly Evidence[] {
  return [
    ...(turn?.attempts.flatMap(describeAttempt) ?? []),
    ...(turn?.mergedInto === undefined ? [] : [{ fact: `answered together with #${turn.mergedInto}` }]),
    ...(answer ? [{ at: answer.at, fact: `the agent answered (${answer.status})` }] : []),
    ...deliveries.flatMap(describeDelivery),
    ...requirements.flatMap(({ id, status, resolvedAt }) =>
      resolvedAt === undefined ? [] : [{ at: resolvedAt, fact: `requirement ${id} was ${status}` }],
    ),
  ]
}

/** Stacks stay in `show`: an explanation names the line. */
function describeAttempt({ attempt, leased_at, ended_at, outcome, error, next_at }: TurnAttempt): readonly Evidence[] {
  const place = error?.file === undefined ? '' : ` at ${error.file}${error.line === undefined ? '' : `:${error.line}`}`
  const cause = error === undefined ? '' : ` (${error.name}: ${quoteLine(error.message)}${place})`
  const next = next_at === undefined ? '' : `, next try at ${isoTime(next_at)}`
  return [
    { at: leased_at, fact: `attempt ${attempt} began` },
    { at: ended_at, fact: `attempt ${attempt} ended: ${outcome}${cause}${next}` },
  ]
}
