import { settleFiles } from '../../actions/plan-actions.ts'
import type { Json } from '../../format/notations.ts'
import { parseJsonText } from '../../format/notations.ts'
import type { PartialResponse } from '../../message/response.ts'
import { sumUsage } from '../../message/token-usage.ts'
import type { TurnContext } from '../../ports/agent/turn-context.ts'
import { isoTime } from '../../ports/platform/platform.ts'
import type { TurnNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work.ts'
import type { AnswerDraft } from '../answer.ts'
import { appendPart, isInterim, planAnswer } from '../answer.ts'

/**
 * The streamed part of an answer whose task was canceled: watchers have seen it, and find it again. It is no answer: no
 * agent remembers it, and none of it is sent. The store keeps it only if the task was really canceled.
 */
export async function keepStreamed(
  turn: Turn,
  { results, platform }: Pick<TurnContext, 'results' | 'platform'>,
  draft: AnswerDraft | undefined,
): Promise<void> {
  const parts = draft?.heard?.filter(({ kind }) => kind === 'text') ?? []
  if (!draft || parts.length === 0) return
  const at = isoTime(platform.now())
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
      ...(draft.usage && { usage: parseJsonText(JSON.stringify(draft.usage)) as Json }),
      // The partial answer has this id, and stays.
      ...(!draft.said && { native_id: draft.id }),
    },
  }
  await results.keepStreamed(turn, note)
}

/** What there is of an answer that does not come to its end. */
export function keepPiece(draft: AnswerDraft, chunk: PartialResponse): void {
  draft.speaker = chunk.speaker ?? draft.speaker
  if (chunk.usage) draft.usage = sumUsage([...(draft.usage ?? []), ...chunk.usage])
  if (!isInterim(chunk)) draft.heard = (chunk.parts ?? []).reduce(appendPart, [...(draft.heard ?? [])])
}

export async function sayMeanwhile(
  turn: Turn,
  turnContext: TurnContext,
  chunk: PartialResponse,
  draft: AnswerDraft,
): Promise<void> {
  const parts = [...(await settleFiles(chunk.parts ?? [], turnContext.store))]
  const interim = planAnswer(turn, turnContext, { ...chunk, parts }, draft)
  draft.said = {
    createdAt: interim.response.created_at,
    rendering: draft.said ? draft.said.rendering : interim.rendering,
  }
  await turnContext.store.say(turn, interim)
}
