// Stores interim answers of a streaming agent, and the streamed part of a canceled answer.
import type { Json, Part, PartialResponse } from '@postern/message'
import { isoTime, parseJsonText, sumUsage } from '@postern/message'
import { resolveFiles } from '../../actions/plan-actions.ts'
import { findNamedPeople } from '../../history/conversation-people.ts'
import type { TurnNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import { appendParts, isInterim } from '../answer/collect-answer.ts'
import type { AnswerDraft } from '../answer/plan-answer.ts'
import { planAnswer, planWithdrawal } from '../answer/plan-answer.ts'

/**
 * Stores the streamed part of an answer whose task was canceled, because watchers have seen it and expect to find it again. It is not an answer: no
 * history contains it, and none of it is sent. The store accepts it only if the task was really canceled.
 */
export async function storeCanceledAnswer(
  turn: Turn,
  { results, system }: Pick<TurnContext, 'results' | 'system'>,
  draft: AnswerDraft | undefined,
): Promise<void> {
  const parts = draft?.receivedParts?.filter(({ kind }) => kind === 'text') ?? []
  if (!draft || parts.length === 0) return
  const at = isoTime(system.now())
  const splits = listSplits(draft.receivedParts ?? [])
  const note: TurnNote = {
    name: 'heard',
    at,
    body: {
      kind: 'text',
      role: 'assistant',
      scope: 'conversation',
      agent_key: draft.speaker ?? turn.agent,
      content: { parts: parseJsonText(JSON.stringify(parts)) as Json },
      turn_id: formatTurnId(turn.message),
      is_incomplete: true,
      ...(splits.length > 0 && { splits }),
      ...(draft.usage && { usage: parseJsonText(JSON.stringify(draft.usage)) as Json }),
      // An interim response already has this id, and it stays.
      ...(!draft.interim && { native_id: draft.id }),
    },
  }
  await results.storeStreamedAnswer(turn, note)
}

/** Lists the positions between text parts at which a tool call or a requirement ended a message. */
function listSplits(receivedParts: readonly Part[]): number[] {
  const splits = new Set<number>()
  let textCount = 0
  for (const { kind } of receivedParts) {
    if (kind === 'text') textCount += 1
    else if (kind === 'tool_call' || kind === 'policy') splits.add(textCount)
  }
  return [...splits].filter(split => split > 0 && split < textCount)
}

/** Adds a piece to the draft of an answer, which is stored if the answer remains unfinished. */
export function addPiece(draft: AnswerDraft, chunk: PartialResponse): void {
  draft.speaker = chunk.speaker ?? draft.speaker
  if (chunk.usage) draft.usage = sumUsage([...(draft.usage ?? []), ...chunk.usage])
  if (!isInterim(chunk)) draft.receivedParts = appendParts(draft.receivedParts ?? [], chunk.parts ?? [])
}

export async function storeInterimAnswer(
  turn: Turn,
  turnContext: TurnContext,
  chunk: PartialResponse,
  draft: AnswerDraft,
): Promise<void> {
  const parts = [...(await resolveFiles(chunk.parts ?? [], turnContext.store))]
  const { mentions } = turnContext.findAgent(turn.agent) ?? {}
  draft.people = await findNamedPeople(turn, parts, { store: turnContext.store, mentions })
  const interim = planAnswer(turn, turnContext, { ...chunk, parts }, draft)
  draft.interim = {
    createdAt: interim.response.created_at,
    rendering: draft.interim ? draft.interim.rendering : interim.rendering,
  }
  const withdrawal = planWithdrawal(turn, turnContext, interim.response, draft)
  await turnContext.store.storeInterimAnswer(turn, { ...interim, withdrawal })
}
