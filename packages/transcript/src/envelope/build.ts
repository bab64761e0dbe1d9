import type { Json } from '@postern/core'
import type { JsonMap } from '../json/difference.ts'
import { type AgentMessageEnvelope, type EnvelopeType, envelopeSchemaName, envelopeVersion } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

type Members = Pick<AgentMessageEnvelope, 'role' | 'content'> &
  Partial<Pick<AgentMessageEnvelope, 'payload' | 'metadata'>>

/** An envelope of any type, checked like one from outside. @throws Rejection as `normalizeEnvelope` */
export function buildEnvelope(type: EnvelopeType, members: Members): AgentMessageEnvelope {
  return normalizeEnvelope({ schema: envelopeSchemaName, version: envelopeVersion, type, payload: {}, ...members })
}

export function buildTextEnvelope(role: string, content: Json, metadata: JsonMap = {}): AgentMessageEnvelope {
  return buildEnvelope('text', { role, content, metadata })
}

interface ToolCallMembers {
  readonly content: Json
  readonly tool_name: string
  readonly parameters: JsonMap
  readonly turn: number
  readonly metadata?: JsonMap | undefined
}

export function buildToolCallEnvelope(members: ToolCallMembers): AgentMessageEnvelope {
  const { content, tool_name, parameters, turn, metadata = {} } = members
  return buildEnvelope('tool_call', { role: 'assistant', content, payload: { tool_name, parameters, turn }, metadata })
}

interface ToolResultMembers {
  readonly content: Json
  readonly tool_name: string
  readonly payload?: JsonMap | undefined
  readonly metadata?: JsonMap | undefined
}

/** Its role is `user`, as the builder of agents-api writes it; in the transcript it is a `tool`'s. */
export function buildToolResultEnvelope(members: ToolResultMembers): AgentMessageEnvelope {
  const { content, tool_name, payload = {}, metadata = {} } = members
  return buildEnvelope('tool_result', { role: 'user', content, payload: { ...payload, tool_name }, metadata })
}

/** The placeholder for a tool's result until somebody has approved the call. */
export function buildApprovalEnvelope(content: Json, payload: JsonMap, metadata: JsonMap = {}): AgentMessageEnvelope {
  return buildEnvelope('approval_required', { role: 'tool', content, payload, metadata })
}

/** A question of the agent. The user's next message answers it. */
export function buildQuestionEnvelope(
  content: Json,
  payload: JsonMap = {},
  metadata: JsonMap = {},
): AgentMessageEnvelope {
  return buildEnvelope('input_required', { role: 'tool', content, payload, metadata })
}
