// Plans the deliveries of an answer.

import type { AgentAction, Json, NormalizedResponse, Part, PartialResponse, TokenUsage } from '@postern/message'
import {
  boundTextMentions,
  chooseMentions,
  defaultMaxMentions,
  isActRefusal,
  isFilePart,
  isoTime,
  makeId,
  randomHex,
} from '@postern/message'
import { deliveryPlanOf, storeFilesFor } from '../../actions/act-plan.ts'
import { planActions } from '../../actions/plan-actions.ts'
import type { Addressing } from '../../ports/channel/addressing.ts'
import { findChannel } from '../../ports/channel/channel.ts'
import type { Answer, DeliveryPlan, PlannedAction } from '../../ports/records/work/answer.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { ActingAgent } from '../../ports/turn/action-deps.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { isCall } from './collect-answer.ts'
import { completeResponse, createFailedAnswer } from './complete-response.ts'

/** The id of a turn's answer, and the state of the answer so far. */
export interface AnswerDraft {
  readonly id: string
  /** The interim response, which the following answer replaces; absent if there is none. */
  interim?: { readonly createdAt: string; readonly rendering: Json | undefined } | undefined
  /** The parts that have arrived so far. */
  receivedParts?: readonly Part[] | undefined
  /** The last speaker, if several agents share an address. */
  speaker?: string | undefined
  /** The tokens that the agent has used for the answer so far. */
  usage?: TokenUsage[] | undefined
  /** Computes the state of the person again if another turn has changed it in the meantime. */
  renewPersonState?: () => Promise<Answer['personState']>
  /** The people of the conversation whom the text of the answer names. */
  people?: readonly string[] | undefined
}

export type PlannedAnswer = Answer & { readonly response: NormalizedResponse }

/** Plans an answer with all its deliveries. @throws Error if it is not a valid response */
export function planAnswer(
  turn: Turn,
  turnContext: TurnContext,
  partial: PartialResponse,
  draft: AnswerDraft,
): PlannedAnswer {
  const channel = findChannel(turnContext.channels, turn.via)
  const givenParts = partial.parts ?? []
  const { parts, blobs } =
    givenParts.some(isFilePart) || givenParts.some(isCall)
      ? storeFilesFor(channel, givenParts, turnContext)
      : { parts: [...givenParts], blobs: [] }
  const createdAt = draft.interim?.createdAt ?? isoTime(turnContext.system.now())
  const chosenMentions = {
    ...chooseAgentMentions(turn, turnContext, partial),
    ...chooseTextMentions(turn, turnContext, parts, draft),
  }
  const response = completeResponse({ ...partial, ...chosenMentions, parts }, turn, { id: draft.id, createdAt })
  const addressing = draft.interim
    ? addressRevision('edit', turn, turnContext, { response, draft })
    : channel?.address({ turn, response })
  const { aliases = [], deliveries, broadcasts, isListed, rendering } = addressing ?? { deliveries: [] }
  return {
    response,
    aliases,
    deliveries,
    ...(broadcasts && { broadcasts }),
    ...(blobs.length > 0 && { blobs }),
    ...(isListed && { isListed }),
    ...(rendering !== undefined && { rendering }),
    ...(draft.interim && { isRevision: true }),
  }
}

function chooseAgentMentions(
  { content }: Turn,
  { fanout }: TurnContext,
  { mentions }: PartialResponse,
): PartialResponse {
  if (!mentions) return {}
  // The channel decides whether the sender gets the answer: if one of our agents passes a mail to another, the answer goes to the people.
  return {
    mentions: [
      ...chooseMentions(mentions, {
        excluded: [content.recipient],
        maxMentions: fanout?.maxMentions ?? defaultMaxMentions,
      }),
    ],
  }
}

function chooseTextMentions(
  { agent }: Turn,
  { findAgent }: Pick<TurnContext, 'findAgent'>,
  parts: readonly Part[],
  { people }: AnswerDraft,
): Pick<NormalizedResponse, 'text_mentions'> {
  const textMentions = boundTextMentions(parts, findAgent(agent)?.mentions, people)
  return textMentions ? { text_mentions: textMentions } : {}
}

/** Plans the deliveries that withdraw an interim response. */
export function planWithdrawal(
  turn: Turn,
  turnContext: TurnContext,
  response: NormalizedResponse,
  draft: AnswerDraft,
): DeliveryPlan | undefined {
  const addressing = addressRevision('delete', turn, turnContext, { response, draft })
  return addressing && deliveryPlanOf(addressing)
}

interface RevisedResponse {
  readonly response: NormalizedResponse
  readonly draft: AnswerDraft
}

function addressRevision(
  act: 'edit' | 'delete',
  { via, agent, content: message, target }: Turn,
  { channels, system }: TurnContext,
  { response, draft: { interim } }: RevisedResponse,
): Addressing | undefined {
  const action = {
    act,
    agent,
    id: randomHex(system, 8),
    at: isoTime(system.now()),
    response,
    message,
    target,
  } as const
  const addressing = findChannel(channels, via)?.actions?.address?.({ ...action, rendering: interim?.rendering })
  return isActRefusal(addressing) ? undefined : addressing
}

export function planTurnActions(
  turn: Turn,
  turnContext: TurnContext,
  acts: readonly AgentAction[],
): Promise<readonly PlannedAction[]> {
  return planActions(acts, actingAgentOf(turn), turnContext)
}

/** Returns the agent that acts in a turn, with the facts that its actions need. */
export function actingAgentOf({ agent, content, via }: Turn): ActingAgent {
  const { agent_chain: chain } = content.recipient_capabilities
  return { agent, address: content.recipient, message: content.id, via, chain }
}

/** Plans the answer of a failed turn. A channel that cannot address even this answer must not prevent the turn from ending. */
export function planFailure(turn: Turn, turnContext: TurnContext, error: string, draft?: AnswerDraft): Answer {
  const failedPartial = { ...createFailedAnswer(turn.correlationId), usage: draft?.usage }
  const answerDraft = draft ?? { id: makeId(turnContext.system) }
  try {
    const failedAnswerPlan = planAnswer(turn, turnContext, failedPartial, answerDraft)
    const unfinishedParts = answerDraft.receivedParts?.filter(({ kind }) => kind === 'text') ?? []
    return {
      ...failedAnswerPlan,
      error: error.toWellFormed(),
      ...(unfinishedParts.length > 0 && { response: { ...failedAnswerPlan.response, unfinished: unfinishedParts } }),
    }
  } catch (cause) {
    turnContext.system.log.error(
      { correlation_id: turn.correlationId, via: turn.via, err: cause },
      'answer not addressable',
    )
    const createdAt = isoTime(turnContext.system.now())
    return {
      response: completeResponse(failedPartial, turn, { id: answerDraft.id, createdAt }),
      deliveries: [],
      error: error.toWellFormed(),
    }
  }
}
