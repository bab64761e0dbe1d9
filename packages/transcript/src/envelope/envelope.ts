// Declares the envelope of an `agents-api.message`.
import type { Json } from '@postern/message'
import type { JsonMap } from '../json/difference.ts'

export const envelopeSchemaName = 'agents-api.message'
export const envelopeVersion = 1

const envelopeTypes = [
  'text',
  'tool_call',
  'tool_result',
  'input_required',
  'approval_required',
  'final_result',
  'error',
  'delta',
  'multimodal_part',
] as const

export type EnvelopeType = (typeof envelopeTypes)[number]

/**
 * A typed message of an agent's run in its stored form. The runtime understands `payload`, and only preserves `metadata`.
 */
export type AgentMessageEnvelope = {
  readonly schema: typeof envelopeSchemaName
  readonly version: typeof envelopeVersion
  readonly type: EnvelopeType
  readonly role: string
  readonly content: Json
  readonly payload: JsonMap
  readonly metadata: JsonMap
  readonly id?: string | undefined
  readonly created_at?: string | undefined
  readonly updated_at?: string | undefined
}

/** The message for a provider of models. */
export type ProviderMessage = {
  readonly role: string
  readonly content: Json
  readonly metadata?: JsonMap | undefined
}

export function isEnvelopeType(value: unknown): value is EnvelopeType {
  return envelopeTypes.some(type => type === value)
}
