// Asks the other agents that an answer mentions, and adds their answers to it.
import type { NormalizedMessage, Part, PartialResponse, System } from '@postern/message'
import {
  chooseMentions,
  defaultMaxMentions,
  isFinalHop,
  plainTextOf,
  Rejection,
  toWellFormed,
  withoutSection,
} from '@postern/message'
import { createSpeakerLine, quoteSpeakerLines } from '../../history/speaker-names.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { MentionFanoutLimits, TurnContext } from '../../ports/turn/turn-context.ts'
import { callOtherAgent } from '../call/call-other-agent.ts'
import { startTurnClock } from '../call/turn-clock.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'
import type { TurnTrace } from '../trace/turn-trace.ts'

export const defaultMentionFanoutLimits: MentionFanoutLimits = {
  maxMentions: defaultMaxMentions,
  concurrency: 4,
  timeoutMs: 60_000,
}

export interface MentionFanoutDeps {
  readonly turnContext: TurnContext
  readonly notes: TurnNotes
  readonly trace: Pick<TurnTrace, 'steps'>
  readonly signals: readonly AbortSignal[]
}

/**
 * Returns the answers of the siblings that an answer mentions if this gateway has to ask them, or their names if the text notifies them. Otherwise
 * returns nothing.
 */
export async function joinLocalAgents(
  turn: Turn,
  answer: PartialResponse,
  { turnContext, notes, trace, signals }: MentionFanoutDeps,
): Promise<readonly Part[]> {
  const { callAgent, fanout: limits = defaultMentionFanoutLimits, system } = turnContext
  if (!callAgent || !needsMentionFanout(turn.content, answer))
    return nameLocalAgents(turn.content, answer, limits.maxMentions)
  return askLocalAgents(turn.content, answer, {
    ask: (address, parts, signal) =>
      callOtherAgent(turn, turnContext, { signal, notes, trace, callKey: `joint ${address}` }, address, parts),
    limits,
    // The signal is created only here, because the signals of which it is composed keep it in memory.
    signal: AbortSignal.any([...signals]),
    system,
  })
}

export interface LocalAgentDeps {
  /** Asks one sibling, one hop further. @throws any error of the call */
  ask(address: string, parts: readonly Part[], signal: AbortSignal): Promise<AgentCallAnswer>
  readonly limits: MentionFanoutLimits
  /** Aborts when the turn is canceled or the process shuts down. */
  readonly signal: AbortSignal
  readonly system: Pick<System, 'log'>
}

/** Returns true if the gateway itself must call the agents that an answer mentions, because this transport would not notify them. */
export function needsMentionFanout(
  { recipient_capabilities: { mention_relay: relay } }: NormalizedMessage,
  { mentions = [], status }: PartialResponse,
): boolean {
  return relay.kind === 'none' && mentions.length > 0 && status !== 'failed' && status !== 'rejected'
}

const unreachableText = 'was not reachable.'
const refusalTexts: Readonly<Record<string, string>> = { forbidden: 'may not be asked.' }

/**
 * Asks the siblings that an answer mentions. Their answers follow the agent's own parts, each under its name (MN-8.1, `none`). A sibling that fails
 * or is too slow is named as unreachable. On the final hop it asks nobody.
 * @throws the reason of `signal`
 */
export async function askLocalAgents(
  message: NormalizedMessage,
  { mentions = [], parts = [] }: PartialResponse,
  deps: LocalAgentDeps,
): Promise<Part[]> {
  const { recipient, sender, recipient_capabilities } = message
  const { maxMentions, concurrency, timeoutMs } = deps.limits
  // The number halves with each hop, so that calls of agents who all mention each other do not multiply.
  const maxAgents = Math.ceil(maxMentions / 2 ** (recipient_capabilities.agent_chain?.hop ?? 0))
  const localAgents = chooseMentions(mentions, { excluded: [recipient, sender.address], maxMentions: maxAgents })
  if (isFinalHop(recipient_capabilities.agent_chain)) {
    return localAgents.map(localAgent =>
      createRemark(localAgent, 'was not asked: this was the final hop of the chain.'),
    )
  }
  const answerParts = parts.length > 0 ? [createSpeakerLine(recipient), ...parts] : []
  const question = [createSpeakerLine(sender.address), ...message.parts.map(quoteSpeakerLines), ...answerParts]
  const clock = startTurnClock(timeoutMs, [deps.signal])
  const answers = await mapConcurrently(localAgents, concurrency, localAgent =>
    // The clock ends the wait for a sibling that is still running when the time is over.
    clock
      .waitWithinTime(askLocalAgent(localAgent, question, { ...deps, signal: clock.signal }))
      .catch(() => [createRemark(localAgent, unreachableText)]),
  ).finally(() => clock.stop())
  deps.signal.throwIfAborted()
  return answers.flat()
}

async function askLocalAgent(
  localAgent: string,
  question: readonly Part[],
  { ask, signal, system }: LocalAgentDeps,
): Promise<Part[]> {
  try {
    signal.throwIfAborted()
    const { parts, status } = await ask(localAgent, question, signal)
    const partialAnswers = selectAnswerParts(parts)
    if (partialAnswers.length > 0) return [createSpeakerLine(localAgent), ...partialAnswers]
    return [createRemark(localAgent, status === 'completed' ? 'had nothing to say.' : 'could not answer.')]
  } catch (error) {
    system.log.warn({ localAgent, err: error }, 'an agent that was mentioned cannot be called')
    return [
      createRemark(
        localAgent,
        error instanceof Rejection ? (refusalTexts[error.code] ?? unreachableText) : unreachableText,
      ),
    ]
  }
}

/** Creates a line of the gateway itself. Nobody can forge such a line, because text of siblings that looks like it is quoted. */
function createRemark(localAgent: string, remark: string): Part {
  return { kind: 'text', mime: 'text/plain', content: `${localAgent} ${remark}` }
}

/** The limits on one sibling's answer. */
const answerLimits = { parts: 100, chars: 64 * 1024 } as const

/**
 * Keeps the text and files of a sibling's answer. It leaves out the sibling's tool calls. A requirement of the sibling (a policy) has no effect in
 * our answer, so only its text stays.
 */
function selectAnswerParts(parts: readonly Part[]): Part[] {
  return toWellFormed(parts.slice(0, answerLimits.parts).map(withoutSection)).flatMap((part): readonly Part[] => {
    if (part.kind === 'text')
      return [quoteSpeakerLines({ ...part, content: part.content.slice(0, answerLimits.chars).toWellFormed() })]
    if (part.kind === 'policy')
      return [quoteSpeakerLines({ kind: 'text', mime: 'text/plain', content: part.policy.message })]
    return part.kind === 'file' || part.kind === 'link' || part.kind === 'artifact' ? [part] : []
  })
}

/** Maps items to values in the same order, with a limited number of concurrent calls. */
async function mapConcurrently<Item, Value>(
  items: readonly Item[],
  concurrency: number,
  map: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = []
  let nextIndex = 0
  const work = async () => {
    for (let index = nextIndex++; index < items.length; index = nextIndex++)
      values[index] = await map(items[index] as Item)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work))
  return values
}

/**
 * Adds a last line with the agents that an answer mentions but does not name in its text, on platforms where only names in the text are mentions
 * (MN-8.1, `inline`), so that the platform notifies them. On the final hop it adds none. It has no side effects.
 */
export function nameLocalAgents(
  { recipient, recipient_capabilities: { mention_relay: relay, agent_chain } }: NormalizedMessage,
  { mentions = [], parts = [], status }: PartialResponse,
  maxMentions: number,
): Part[] {
  const isShown = status !== 'failed' && status !== 'rejected'
  if (relay.kind !== 'inline' || !isShown || isFinalHop(agent_chain)) return []
  const text = plainTextOf(parts)
  // The sender is the platform, not one of the readers.
  const localAgents = chooseMentions(mentions, { excluded: [recipient], maxMentions })
  const unnamedAgents = localAgents.filter(address => !isNamedIn(text, address))
  if (unnamedAgents.length === 0) return []
  // Some clients concatenate the texts of an answer without a separator.
  const gap = text === '' ? '' : '\n\n'
  return [{ kind: 'text', mime: 'text/plain', content: gap + unnamedAgents.join(' ') }]
}

function isNamedIn(text: string, address: string): boolean {
  const escapedAddress = address.replace(/[^\p{L}\p{N}@]/gu, '\\$&')
  return new RegExp(`(?<![\\w.@/-])${escapedAddress}(?![\\w-]|[.@]\\w)`, 'i').test(text)
}
