import { Rejection, TurnAborted, Undeliverable } from '../../format/errors.ts'
import { announceSpeaker, quoteNames } from '../../history/history.ts'
import { checkChainGoesOn, chooseMentions, defaultMaxMentions, isFinalHop } from '../../message/address/address.ts'
import type { NormalizedMessage } from '../../message/message.ts'
import type { Part } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import { plainTextOf } from '../../message/response.ts'
import type { AgentContext } from '../../ports/agent/agent.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { MentionFanoutLimits, TurnContext } from '../../ports/agent/turn-context.ts'
import type { Platform } from '../../ports/platform/platform.ts'
import { startTurnClock } from '../../ports/platform/platform.ts'
import type { Turn } from '../../ports/records/work.ts'
import { withoutRequirements } from '../../requirements/requirements.ts'
import { noteCall } from '../notes/call-notes.ts'
import type { TurnNotes } from '../notes/turn-notes.ts'

export const defaultMentionFanoutLimits: MentionFanoutLimits = {
  maxMentions: defaultMaxMentions,
  atOnce: 4,
  withinMs: 60_000,
}

export interface MentionFanoutDeps {
  readonly turnContext: TurnContext
  readonly notes: TurnNotes
  readonly signals: readonly AbortSignal[]
}

/** What the siblings say that an answer mentions, where this gateway has to ask them; their names, where these wake them; nothing elsewhere. */
export async function joinLocalAgents(
  turn: Turn,
  said: PartialResponse,
  { turnContext, notes, signals }: MentionFanoutDeps,
): Promise<readonly Part[]> {
  const { callAgent, fanout: limits = defaultMentionFanoutLimits, platform } = turnContext
  if (!callAgent || !needsMentionFanout(turn.content, said))
    return nameLocalAgents(turn.content, said, limits.maxMentions)
  return askLocalAgents(turn.content, said, {
    ask: (address, parts, signal) =>
      callOtherAgent(turn, turnContext, { signal, notes, place: `joint ${address}` }, address, parts),
    limits,
    // Only here: a signal made of others is held by them.
    signal: AbortSignal.any([...signals]),
    platform,
  })
}

type CallDeps = Pick<TurnContext, 'callAgent' | 'presentParts' | 'waiting' | 'traceparentOf'>

/**
 * The way from a turn to other agents, one hop further: the chain goes on from the message, whatever the agent says. Each call is noted before
 * it goes out, and what comes of it.
 * @throws Rejection `forbidden` on the final hop; as `CallAgent`
 */
export async function callOtherAgent(
  turn: Turn,
  { callAgent, presentParts, waiting, traceparentOf }: CallDeps,
  { signal, place, notes }: CallPlace,
  ...[address, content, { broadcast: isBroadcast, agentKey, ...options } = {}]: Parameters<AgentContext['call']>
): Promise<AgentCallAnswer> {
  // Of other words it is another call.
  const revision = turn.revision ? ` revision ${turn.revision}` : ''
  const retryKey = `${turn.correlationId} ${turn.agent}${revision} ${place}`
  if (!callAgent) throw new Undeliverable('Cannot call agent: there is no way to agents elsewhere')
  const parts = typeof content === 'string' ? [{ kind: 'text', mime: 'text/markdown', content } as const] : content
  const chain = turn.content.recipient_capabilities.agent_chain
  checkChainGoesOn(chain)
  const asked = withoutRequirements(parts)
  const traced = traceparentOf && { traceparent: traceparentOf(turn) }
  const call = () =>
    callAgent(address, presentParts(asked), { ...options, ...traced, as: turn.agent, chain, signal, retryKey })
  const end = await notes.beginCall(noteCall(`${place}${revision}`, address, asked, { isBroadcast, agentKey }))
  try {
    const answer = await (waiting ? waiting.during(turn, call) : call())
    end.answered(answer)
    return answer
  } catch (error) {
    // What is broken off is taken up again, or nobody's any more.
    if (!(signal.reason instanceof TurnAborted)) end.failed(error)
    throw error
  }
}

interface CallPlace {
  readonly signal: AbortSignal
  readonly notes: TurnNotes
  /** Tells the calls of a turn apart: the same for the same call when the turn is tried again. */
  readonly place: string
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

/**
 * Those an answer mentions and does not name: where a mention is what stands in the text (MN-8.1, `inline`), one last line
 * names them, so that the platform wakes them. On the final hop nobody is woken. Pure.
 */
export function nameLocalAgents(
  { recipient, recipient_capabilities: { mention_relay: relay, agent_chain } }: NormalizedMessage,
  { mentions = [], parts = [], status }: PartialResponse,
  maxMentions: number,
): Part[] {
  const isSaid = status !== 'failed' && status !== 'rejected'
  if (relay.kind !== 'inline' || !isSaid || isFinalHop(agent_chain)) return []
  const text = plainTextOf(parts)
  // The sender is the platform, not one of those who read.
  const localAgents = chooseMentions(mentions, { without: [recipient], most: maxMentions })
  const missing = localAgents.filter(address => !isNamedIn(text, address))
  if (missing.length === 0) return []
  // Some readers put the texts of an answer together as they are.
  const gap = text === '' ? '' : '\n\n'
  return [{ kind: 'text', mime: 'text/plain', content: gap + missing.join(' ') }]
}

function isNamedIn(text: string, address: string): boolean {
  const literal = address.replace(/[^\p{L}\p{N}@]/gu, '\\$&')
  return new RegExp(`(?<![\\w.@/-])${literal}(?![\\w-]|[.@]\\w)`, 'i').test(text)
}
