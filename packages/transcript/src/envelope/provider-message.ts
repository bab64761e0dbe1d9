import type { AgentMessageEnvelope, ProviderMessage } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'

/**
 * The projection for a call of a model: type and payload go into the metadata, where its own members stand before the payload's; id and
 * times do not travel. There is no way back.
 * @throws Rejection as `normalizeEnvelope`
 */
export function toProviderMessage(value: unknown): ProviderMessage {
  const envelope = normalizeEnvelope(value)
  const { role, content, metadata, payload } = envelope
  if (!needsMetadata(envelope)) return { role, content }
  return { role, content, metadata: { ...payload, ...metadata, type: envelope.type } }
}

export function toProviderMessages(values: readonly unknown[]): readonly ProviderMessage[] {
  return values.map(toProviderMessage)
}

function needsMetadata({ type, payload, metadata }: AgentMessageEnvelope): boolean {
  return type !== 'text' || Object.keys(payload).length > 0 || Object.keys(metadata).length > 0
}
