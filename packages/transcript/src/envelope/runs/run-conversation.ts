import { type Json, Rejection } from '@postern/core'
import type { JsonMap } from '../../json/difference.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import { normalizeEnvelopes } from '../normalize.ts'
import { buildFailedResult, type ConversationResult, normalizeConversationResult } from './conversation-result.ts'

/** The input of a conversation loop (`agents_api_conversation_runner`). */
export interface ConversationRequest {
  readonly messages: readonly AgentMessageEnvelope[]
  readonly tools: readonly Json[]
  readonly provider: string
  readonly model: string
  readonly mode: string
  readonly payload: JsonMap
  readonly max_turns: number
  readonly single_turn: boolean
}

/** Another runtime's loop; `null` leaves the conversation to the built-in one. */
type ForeignRunner = (request: ConversationRequest) => Promise<unknown>
type BuiltInRunner = (request: ConversationRequest) => Promise<ConversationResult>

interface ConversationRunners {
  readonly foreign?: ForeignRunner | undefined
  readonly builtIn: BuiltInRunner
}

/**
 * Runs a conversation with the given runner. An unusable foreign result becomes a result that says so, with the given messages, and no
 * exception. @throws Rejection for invalid messages in the request; the runner's error
 */
export async function runConversation(
  request: Omit<ConversationRequest, 'messages'> & { readonly messages: readonly unknown[] },
  { foreign, builtIn }: ConversationRunners,
): Promise<ConversationResult> {
  const normalized = { ...request, messages: normalizeEnvelopes(request.messages) }
  const result = (await foreign?.(normalized)) ?? null
  if (result === null) return normalizeConversationResult(await builtIn(normalized))
  return takeForeignResult(normalized.messages, result)
}

function takeForeignResult(messages: readonly AgentMessageEnvelope[], result: unknown): ConversationResult {
  try {
    return normalizeConversationResult(result)
  } catch (error) {
    if (error instanceof Rejection) return buildFailedResult(messages, error.message)
    throw error
  }
}
