// Asks the other agents that an answer mentions, and adds their answers to it.
import type { NormalizedMessage, Part, PartialResponse, System } from '@postern/message'
import {
  checkChainGoesOn,
  chooseMentions,
  defaultMaxMentions,
  invisibleFlag,
  isFinalHop,
  plainTextOf,
  Rejection,
  readVisibleParts,
  TurnAborted,
  toWellFormed,
  Undeliverable,
  withoutSection,
} from '@postern/message'
import { toParts } from '../../actions/plan-actions.ts'
import { announceSpeaker, quoteNames } from '../../history/speaker-names.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { AgentContext } from '../../ports/agent/agent-context.ts'
import { failureCodeOf } from '../../ports/agent/step-recorder.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { MentionFanoutLimits, TurnContext } from '../../ports/turn/turn-context.ts'
import { withoutRequirements } from '../../requirements/requirements.ts'
import { startTurnClock } from '../call/turn-clock.ts'
import { reportRefusedCall } from '../limits/refused-call.ts'
import { describeNotedCall, readCallAnswer } from '../notes/call-notes.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'
import type { TurnTrace } from '../trace/turn-trace.ts'

export const defaultMentionFanoutLimits: MentionFanoutLimits = {
  maxMentions: defaultMaxMentions,
  concurrency: 4,
  withinMs: 60_000,
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

type OtherAgentDeps = Pick<
  TurnContext,
  'store' | 'system' | 'findAgent' | 'callAgent' | 'callBudget' | 'presentParts' | 'waiting' | 'traceparentOf'
>

/**
 * Calls another agent for a turn, one hop further. The chain continues that of the message, regardless of the agent's options. It records each call
 * before it is sent, and its outcome.
 * @throws Rejection `forbidden` on the final hop, and if its message has caused too many calls; also as `CallAgent`
 */
export async function callOtherAgent(
  turn: Turn,
  callDeps: OtherAgentDeps,
  { signal, callKey, notes, trace, parent }: TurnCallContext,
  ...[address, content, { broadcast: isBroadcast, agentKey, onBehalfOf, ...options } = {}]: Parameters<
    AgentContext['call']
  >
): Promise<AgentCallAnswer> {
  const { findAgent, callAgent, callBudget, presentParts, waiting, traceparentOf } = callDeps
  // A turn whose message was edited makes another call.
  const revision = turn.revision ? ` revision ${turn.revision}` : ''
  const retryKey = `${turn.correlationId} ${turn.agent}${revision} ${callKey}`
  if (!callAgent) throw new Undeliverable('Cannot call agent: there is no way to agents elsewhere')
  const parts = toParts(content)
  const chain = turn.content.recipient_capabilities.agent_chain
  const question = toWellFormed(withoutRequirements(parts))
  const credentials = findAgent(turn.agent)?.credentials
  if (onBehalfOf && onBehalfOf.id !== turn.content.id)
    throw new Rejection('malformed', 'Cannot call agent: "onBehalfOf" takes the message of the turn alone')
  const calledBy = { message: turn.message, isOnBehalf: onBehalfOf !== undefined }
  const notedCall = describeNotedCall(`${callKey}${revision}`, address, question, { isBroadcast, agentKey })
  try {
    checkChainGoesOn(chain)
    callBudget?.consume(turn)
  } catch (error) {
    if (error instanceof Rejection) await reportRefusedCall(turn, notedCall, error, { ...callDeps, notes })
    throw error
  }
  const callEnd = await notes.beginCall(notedCall)
  const step = trace.steps.begin({ kind: 'call', name: address }, parent)
  const traceMember = traceparentOf && { traceparent: traceparentOf(turn, step.number) }
  const callOptions = { ...traceMember, as: turn.agent, chain, signal, retryKey, credentials, calledBy }
  const call = () => callAgent(address, presentParts(question, 'peer'), { ...options, ...callOptions })
  try {
    const rawAnswer = await (waiting ? waiting.trackCall(turn, call) : call())
    const answer = readVisibleAnswer(rawAnswer, { turn, address, log: callDeps.system.log })
    callEnd.recordAnswer(answer)
    step.end(readCallAnswer(answer).error && { failureCode: answer.status })
    return answer
  } catch (error) {
    // An aborted call gets no outcome: either another worker repeats it, or nobody does.
    if (!(signal.reason instanceof TurnAborted)) callEnd.recordFailure(error)
    step.end({ failureCode: failureCodeOf(error) })
    throw error
  }
}

/** Removes invisible characters from the answer of another agent, and tells the operator how many there were. */
function readVisibleAnswer(
  rawAnswer: AgentCallAnswer,
  { turn, address, log }: { readonly turn: Turn; readonly address: string; readonly log: System['log'] },
): AgentCallAnswer {
  const { value: parts, removed } = readVisibleParts(rawAnswer.parts)
  if (removed > 0) {
    const fields = { correlation_id: turn.correlationId, address, flag: invisibleFlag, removed }
    log.warn(fields, 'invisible characters were removed from the answer of another agent')
  }
  return toWellFormed({ ...rawAnswer, parts })
}

interface TurnCallContext {
  readonly signal: AbortSignal
  readonly notes: TurnNotes
  readonly trace: Pick<TurnTrace, 'steps'>
  /** The number of the step that makes the call; absent if the turn itself makes it. */
  readonly parent?: number | undefined
  /** The key that distinguishes the calls of a turn. The same call of a retried turn has the same key. */
  readonly callKey: string
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
  const { maxMentions, concurrency, withinMs } = deps.limits
  // The number halves with each hop, so that calls of agents who all mention each other do not multiply.
  const maxAgents = Math.ceil(maxMentions / 2 ** (recipient_capabilities.agent_chain?.hop ?? 0))
  const localAgents = chooseMentions(mentions, { excluded: [recipient, sender.address], maxMentions: maxAgents })
  if (isFinalHop(recipient_capabilities.agent_chain)) {
    return localAgents.map(localAgent =>
      createRemark(localAgent, 'was not asked: this was the final hop of the chain.'),
    )
  }
  const answerParts = parts.length > 0 ? [announceSpeaker(recipient), ...parts] : []
  const question = [announceSpeaker(sender.address), ...message.parts.map(quoteNames), ...answerParts]
  const clock = startTurnClock(withinMs, [deps.signal])
  const answers = await mapConcurrently(localAgents, concurrency, localAgent =>
    // It does not wait for a sibling that is still running when the time is over.
    clock
      .limit(askLocalAgent(localAgent, question, { ...deps, signal: clock.signal }))
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
    if (partialAnswers.length > 0) return [announceSpeaker(localAgent), ...partialAnswers]
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

const unreachableText = 'was not reachable.'
const refusalTexts: Readonly<Record<string, string>> = { forbidden: 'may not be asked.' }

/** Returns a line of the gateway itself. Nobody can forge it, because text of siblings that looks like such a line is quoted. */
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
      return [quoteNames({ ...part, content: part.content.slice(0, answerLimits.chars).toWellFormed() })]
    if (part.kind === 'policy') return [quoteNames({ kind: 'text', mime: 'text/plain', content: part.policy.message })]
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
 * (MN-8.1, `inline`), so that the platform notifies them. On the final hop it adds none. Pure.
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
