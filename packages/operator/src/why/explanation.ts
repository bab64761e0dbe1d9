// Explains a message or a refusal: the reason, the evidence and the fix.
import type { ModelRun, TurnAttempt, TurnStep } from '@postern/message'
import { isoTime } from '@postern/message'
import type { Refusal } from '@postern/pipeline'
import { z } from 'zod'
import { instantSchema } from '../api/page.ts'
import type { WhyFacts } from './facts.ts'
import type { Evidence, Reason } from './reason.ts'
import { formatErrorPosition, formatQuantity, quoteLine } from './reason.ts'
import { reasonOf } from './reasons.ts'
import { describeDelivery } from './rules/delivery.ts'
import { reasonOfRefusal } from './rules/refusals.ts'

const explanationSchema = z
  .object({
    kind: z.enum(['message', 'refusal', 'nothing']),
    message: z.int().optional().describe('The gateway’s number of the message.'),
    id: z.string().optional().describe('The peer’s id of the message.'),
    via: z.string().optional().describe('Channel.'),
    agent: z.string().optional(),
    sender: z.string().optional().describe('Address of the sender; of a refusal, as it claims.'),
    code: z.string().describe('The reason, for programs, such as `webhook_down`.'),
    sentence: z.string().describe('Event, cause and time in one line.'),
    since: instantSchema,
    evidence: z
      .array(z.object({ at: instantSchema.optional(), fact: z.string() }))
      .readonly()
      .describe('Observations of the gateway, oldest first; facts without a time come last.'),
    fix: z
      .object({ text: z.string(), command: z.string().optional().describe('To copy.') })
      .optional()
      .describe('The fix; absent if there is nothing to fix.'),
  })
  .meta({ id: 'Explanation' })

/** The answer to one question, with its explanations. */
export const whyAnswerSchema = z
  .object({
    asked: z.string(),
    found: z.enum(['id', 'message', 'delivery', 'address', 'refusal', 'nothing']).describe('The words that found it.'),
    explanations: z
      .array(explanationSchema)
      .readonly()
      .describe('Best first: for an id its message, for an address the newest ones.'),
  })
  .meta({ id: 'WhyAnswer' })

export type WhyAnswer = Readonly<z.infer<typeof whyAnswerSchema>>
export type Explanation = Readonly<z.infer<typeof explanationSchema>>

/** Explains a message. `refusals` holds earlier attempts with the same id. */
export function explainMessage(facts: WhyFacts, refusals: readonly Refusal[]): Explanation {
  const { message, now } = facts
  const reason = reasonOf(facts)
  const earlierEvidence = refusals.map(refusal => ({
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
    ...writeReason(reason, [...describeMessage(facts), ...earlierEvidence, ...describeWork(facts)]),
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

/** Explains that the gateway has no such message: it never arrived, was not stored, or was deleted. */
export function explainNothing(query: string, now: number): Explanation {
  const evidence = [
    { fact: 'no message, answer, delivery or requirement has this id or number' },
    { fact: 'among the newest 10,000 entries nothing came from or to this address' },
    {
      fact: 'the gateway takes valid messages that name no agent, such as a post without a mention, and does not store them',
    },
    { fact: 'none of the newest 10,000 refusals names it' },
  ]
  return {
    kind: 'nothing',
    code: 'nothing_known',
    sentence: `The gateway has nothing about ${quoteLine(query)}: it never arrived, or it was deleted since`,
    since: isoTime(now),
    evidence,
    fix: {
      text: "See whether the sender's server reached this gateway at all: its own log, DNS, the port, the address that was written to.",
      command: 'npx postern doctor',
    },
  }
}

function writeReason({ code, sentence, since, evidence = [], fix }: Reason, facts: readonly Evidence[]) {
  const orderedFacts = [...facts, ...evidence].toSorted(
    (a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY),
  )
  return {
    code,
    sentence,
    since: isoTime(since),
    evidence: orderedFacts.map(({ at, fact }) => ({ ...(at !== undefined && { at: isoTime(at) }), fact })),
    ...(fix && { fix }),
  }
}

/** Describes the arrival of the message. */
function describeMessage({ message }: WhyFacts): readonly Evidence[] {
  const { sentAt, receivedAt, channel, sender, isVerified, recipient, flags, duplicates } = message
  const proof = isVerified ? 'proven' : 'not proven'
  return [
    ...(sentAt === undefined ? [] : [{ at: sentAt, fact: 'its peer sent it, as it claims' }]),
    { at: receivedAt, fact: `received by ${channel} from ${sender} (${proof}) for ${recipient}` },
    ...(flags.length > 0 ? [{ fact: `flags: ${flags.join(', ')}` }] : []),
    ...(duplicates > 0 ? [{ fact: `its peer sent it ${formatQuantity(duplicates, 'more time')}` }] : []),
  ]
}

/** Describes the turn, the answer and its deliveries. */
function describeWork({ turn, steps = [], answer, deliveries, requirements }: WhyFacts): readonly Evidence[] {
  return [
    ...(turn?.attempts.flatMap(describeAttempt) ?? []),
    ...steps.flatMap(describeStep),
    ...(turn?.mergedInto === undefined ? [] : [{ fact: `answered together with #${turn.mergedInto}` }]),
    ...(answer ? [{ at: answer.at, fact: `the agent answered (${answer.status})` }] : []),
    ...deliveries.flatMap(describeDelivery),
    ...requirements.flatMap(({ id, status, resolvedAt }) =>
      resolvedAt === undefined ? [] : [{ at: resolvedAt, fact: `requirement ${id} was ${status}` }],
    ),
  ]
}

/** Describes a stage or a call. Notes are left out, because they explain nothing. */
function describeStep({ kind, name, at, ms, message, error }: TurnStep): readonly Evidence[] {
  if (kind === 'note') return []
  const duration = ms === undefined ? '' : `, ${ms} ms`
  if (kind === 'stage') return [{ at, fact: `the agent was in the stage "${name}"${duration}` }]
  const number = message === undefined ? '' : ` (#${message})`
  return [
    {
      at,
      fact: `the agent called ${name}${number}${error === undefined ? duration : `, which failed: ${quoteLine(error)}`}`,
    },
  ]
}

/** Describes an attempt, with the name, message and position of its error. `show` prints the whole stack. */
function describeAttempt({
  attempt,
  leased_at,
  ended_at,
  outcome,
  models = [],
  tools = [],
  refused_acts = [],
  error,
  next_at,
}: TurnAttempt): readonly Evidence[] {
  const cause = error === undefined ? '' : ` (${error.name}: ${quoteLine(error.message)}${formatErrorPosition(error)})`
  const retryNote = next_at === undefined ? '' : `, next try at ${isoTime(next_at)}`
  return [
    { at: leased_at, fact: `attempt ${attempt} began` },
    ...models.map(run => ({ at: run.at, fact: `the agent asked the model "${run.name}"${formatRunEnd(run)}` })),
    ...tools.map(run => ({
      at: run.at ?? leased_at,
      fact: `the agent called the tool "${run.name}"${formatRunEnd(run)}`,
    })),
    ...refused_acts.map(({ act, code, message }) => {
      return { at: ended_at, fact: `an act of the agent was refused (${act}, ${code}): ${quoteLine(message)}` }
    }),
    { at: ended_at, fact: `attempt ${attempt} ended: ${outcome.replaceAll('_', ' ')}${cause}${retryNote}` },
  ]
}

function formatRunEnd({ ms, ok }: Pick<ModelRun, 'ok'> & { readonly ms?: number | undefined }): string {
  if (!ok) return ', which failed'
  return ms === undefined ? '' : `, ${Math.round(ms)} ms`
}
