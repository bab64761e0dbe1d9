import { Rejection } from '../../format/errors.ts'
import { announceSpeaker, quoteNames } from '../../history/history.ts'
import { isFinalHop } from '../../message/address/chain.ts'
import { chooseMentions, defaultMaxMentions } from '../../message/address/mention.ts'
import type { NormalizedMessage } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { MentionFanoutLimits } from '../../ports/agent/mention-fanout-limits.ts'
import type { Platform } from '../../ports/platform/platform.ts'
import { startTurnClock } from '../turn-clock.ts'

export const defaultMentionFanoutLimits: MentionFanoutLimits = {
  maxMentions: defaultMaxMentions,
  atOnce: 4,
  withinMs: 60_000,
}

export interface Joining {
  /** Asks one sibling, one hop further. @throws whatever the call throws */
  ask(address: string, parts: readonly Part[], signal: AbortSignal): Promise<AgentCallAnswer>
  readonly limits: MentionFanoutLimits
  /** The turn is canceled, or the process shuts down. */
  readonly signal: AbortSignal
  readonly platform: Pick<Platform, 'log'>
}

/** Whether the gateway itself must call whom an answer mentions: nothing on this transport would wake them. */
export function needsMentionFanout(
  { recipient_capabilities: { mention_relay: relay } }: NormalizedMessage,
  { mentions = [], status }: PartialResponse,
): boolean {
  return relay.kind === 'none' && mentions.length > 0 && status !== 'failed' && status !== 'rejected'
}

/**
 * What the siblings that an answer mentions have to say, each under its name, to stand behind the agent's own parts
 * (MN-8.1, `none`). Who fails or is too slow is named as not reachable; on the final hop nobody is asked.
 * @throws the reason of `signal`
 */
export async function askLocalAgents(
  message: NormalizedMessage,
  { mentions = [], parts = [] }: PartialResponse,
  joining: Joining,
): Promise<Part[]> {
  const { recipient, sender, recipient_capabilities } = message
  const { maxMentions, atOnce, withinMs } = joining.limits
  // Each hop half as many, so that agents who all mention each other do not become ever more.
  const most = Math.ceil(maxMentions / 2 ** (recipient_capabilities.agent_chain?.hop ?? 0))
  const localAgents = chooseMentions(mentions, { without: [recipient, sender.address], most })
  if (isFinalHop(recipient_capabilities.agent_chain)) {
    return localAgents.map(localAgent => noteOf(localAgent, 'was not asked: this was the final hop of the chain.'))
  }
  const said = parts.length > 0 ? [announceSpeaker(recipient), ...parts] : []
  const question = [announceSpeaker(sender.address), ...message.parts.map(quoteNames), ...said]
  const clock = startTurnClock(withinMs, [joining.signal])
  const answers = await mapAtOnce(localAgents, atOnce, localAgent =>
    // Whoever goes on after the end of the time is not waited for.
    clock
      .limit(askOne(localAgent, question, { ...joining, signal: clock.signal }))
      .catch(() => [noteOf(localAgent, notReachable)]),
  ).finally(() => clock.stop())
  joining.signal.throwIfAborted()
  return answers.flat()
}

async function askOne(
  localAgent: string,
  question: readonly Part[],
  { ask, signal, platform }: Joining,
): Promise<Part[]> {
  try {
    signal.throwIfAborted()
    const { parts, status } = await ask(localAgent, question, signal)
    const said = keepPartialAnswers(parts)
    if (said.length > 0) return [announceSpeaker(localAgent), ...said]
    return [noteOf(localAgent, status === 'completed' ? 'had nothing to say.' : 'could not answer.')]
  } catch (error) {
    platform.log.warn({ localAgent, err: error }, 'an agent that was mentioned cannot be called')
    return [noteOf(localAgent, error instanceof Rejection ? (refusalNotes[error.code] ?? notReachable) : notReachable)]
  }
}

const notReachable = 'was not reachable.'
const refusalNotes: Readonly<Record<string, string>> = { forbidden: 'may not be asked.' }

/** Our own words, in a line that nobody else can write: what siblings say stands quoted where it looks like one. */
function noteOf(localAgent: string, what: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${localAgent} ${what}` }
}

/** Of one sibling. */
const most = { parts: 100, chars: 64 * 1024 } as const

/**
 * Words and files of a stranger. Tools it has used are its own business; a requirement of its own (a policy) counts for nothing in our
 * answer, so only its words stay.
 */
function keepPartialAnswers(parts: readonly Part[]): Part[] {
  return parts.slice(0, most.parts).flatMap((part): readonly Part[] => {
    if (part.kind === 'text') return [quoteNames({ ...part, content: part.content.slice(0, most.chars) })]
    if (part.kind === 'policy') return [quoteNames({ kind: 'text', mime: 'text/plain', content: part.policy.message })]
    return part.kind === 'file' || part.kind === 'link' || part.kind === 'artifact' ? [part] : []
  })
}

/** In order, so many at once. */
async function mapAtOnce<Item, Value>(
  items: readonly Item[],
  atOnce: number,
  map: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  let next = 0
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) values[at] = await map(items[at] as Item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work))
  return values
}
