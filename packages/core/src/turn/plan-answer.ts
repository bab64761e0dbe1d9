import { planActions, storeFilesFor, toPlanned } from '../actions/plan-actions.ts'
import type { Json } from '../format/json.ts'
import { chooseMentions, defaultMaxMentions } from '../message/address/mention.ts'
import type { AgentAction } from '../message/agent-action.ts'
import type { Part } from '../message/part.ts'
import type { NormalizedResponse, PartialResponse } from '../message/response.ts'
import type { TokenUsage } from '../message/token-usage.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { Addressing } from '../ports/channel.ts'
import { findChannel } from '../ports/channel.ts'
import { isoTime, makeId, randomHex } from '../ports/platform/platform.ts'
import type { Answer, PlannedAction, Turn } from '../ports/records/work.ts'
import { completeResponse, failedAnswer } from './answer.ts'

/** What a turn's answer is called, and what it has said meanwhile. */
export interface AnswerDraft {
  readonly id: string
  /** Set once something was said: what follows takes its place. */
  said?: { readonly createdAt: string; readonly rendering: Json | undefined } | undefined
  /** What was heard of it as it came. */
  heard?: readonly Part[] | undefined
  /** Who spoke last, where several agents stand behind one address. */
  speaker?: string | undefined
  /** What the agent has spent on it so far. */
  usage?: TokenUsage[] | undefined
}

export type Said = Answer & { readonly response: NormalizedResponse }

/** An answer with every delivery it causes. @throws Error when it is not a valid response */
export function planAnswer(turn: Turn, turnContext: TurnContext, partial: PartialResponse, draft: AnswerDraft): Said {
  const channel = findChannel(turnContext.channels, turn.via)
  const { parts, blobs } = storeFilesFor(channel, partial.parts ?? [], turnContext)
  const createdAt = draft.said?.createdAt ?? isoTime(turnContext.platform.now())
  const woken = whomItWakes(turn, turnContext, partial)
  const response = completeResponse({ ...partial, ...woken, parts }, turn, { id: draft.id, createdAt })
  const addressing = draft.said
    ? addressRevision(turn, turnContext, response, draft)
    : channel?.address({ turn, response })
  const { aliases = [], isListed, rendering, ...to } = addressing ?? { deliveries: [] }
  return {
    response,
    aliases,
    ...toPlanned({ aliases, ...to }),
    ...(blobs.length > 0 && { blobs }),
    ...(isListed && { isListed }),
    ...(rendering !== undefined && { rendering }),
    ...(draft.said && { isRevision: true }),
  }
}

function whomItWakes({ content }: Turn, { fanout }: TurnContext, { mentions }: PartialResponse): PartialResponse {
  if (!mentions) return {}
  // Whether the sender is answered anyway, the channel knows: one agent of ours that is handed a mail by another answers the people.
  return {
    mentions: [
      ...chooseMentions(mentions, { without: [content.recipient], most: fanout?.maxMentions ?? defaultMaxMentions }),
    ],
  }
}

function addressRevision(
  { via, agent, content: message, target }: Turn,
  { channels, platform }: TurnContext,
  response: NormalizedResponse,
  { said }: AnswerDraft,
): Addressing | undefined {
  const action = {
    act: 'edit',
    agent,
    id: randomHex(platform, 8),
    at: isoTime(platform.now()),
    response,
    message,
    target,
  } as const
  return findChannel(channels, via)?.addressAction?.({ ...action, rendering: said?.rendering })
}

export function planTurnActions(
  turn: Turn,
  turnContext: TurnContext,
  acts: readonly AgentAction[],
): Promise<readonly PlannedAction[]> {
  const { agent, content, via } = turn
  const { agent_chain: chain } = content.recipient_capabilities
  return planActions(acts, { agent, address: content.recipient, message: content.id, via, chain }, turnContext)
}

/** A channel that cannot address even this must not keep the turn from ending. */
export function planFailure(turn: Turn, turnContext: TurnContext, error: string, draft?: AnswerDraft): Answer {
  const failed = { ...failedAnswer(turn.correlationId), usage: draft?.usage }
  const named = draft ?? { id: makeId(turnContext.platform) }
  try {
    const said = planAnswer(turn, turnContext, failed, named)
    const unfinished = named.heard?.filter(({ kind }) => kind === 'text') ?? []
    return { ...said, error, ...(unfinished.length > 0 && { response: { ...said.response, unfinished } }) }
  } catch (cause) {
    turnContext.platform.log.error(
      { correlation_id: turn.correlationId, via: turn.via, err: cause },
      'answer not addressable',
    )
    const createdAt = isoTime(turnContext.platform.now())
    return { response: completeResponse(failed, turn, { id: named.id, createdAt }), deliveries: [], error }
  }
}
