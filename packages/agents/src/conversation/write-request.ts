import type { HistoricalMessage, Json, NormalizedMessage, Part, ToolCallPart } from '@postern/core'
import { plainTextOf } from '@postern/core'
import type { AgentMessageEnvelope, ConversationRequest } from '@postern/transcript'
import { buildTextEnvelope, buildToolCallEnvelope, buildToolResultEnvelope } from '@postern/transcript'

/** A turn has no more steps, whoever takes them. */
const maxTurns = 20

/** What another runtime is given of a turn (`agents_api_conversation_runner`): the past and the message as envelopes, the message itself in `payload`. */
export function describeConversation(agent: string, message: NormalizedMessage): ConversationRequest {
  const { history = [], raw: _, ...rest } = message
  const said = { role: 'user' as const, sender: message.sender, parts: message.parts, timestamp: message.received_at }
  return {
    messages: [...history, { ...said, id: message.id }].flatMap(writeTurn),
    tools: [],
    // The runtime has its own.
    provider: '',
    model: '',
    mode: 'chat',
    payload: { agent, message: JSON.parse(JSON.stringify(rest)) as Json },
    max_turns: maxTurns,
    single_turn: false,
  }
}

function writeTurn(turn: HistoricalMessage): readonly AgentMessageEnvelope[] {
  const { role, sender, parts, timestamp, id } = turn
  const words = plainTextOf(parts.filter(part => part.kind !== 'tool_call'))
  const files = parts.filter(({ kind }) => kind === 'file' || kind === 'artifact')
  const metadata = { sender: sender.address, ...(files.length > 0 && { files: files.map(nameFile) }) }
  const text = { ...buildTextEnvelope(role, words, metadata), ...(id !== undefined && { id }), created_at: timestamp }
  return [...(words !== '' || files.length > 0 ? [text] : []), ...parts.filter(isCall).flatMap(writeCall)]
}

const isCall = (part: Part): part is ToolCallPart => part.kind === 'tool_call'

function nameFile(part: Part): Json {
  const { name, mime } = part as { readonly name?: string; readonly mime?: string }
  return { ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) }
}

function writeCall({ id, name, args, result, error }: ToolCallPart): readonly AgentMessageEnvelope[] {
  const metadata = { tool_call_id: id }
  const parameters = (typeof args === 'object' && args !== null && !Array.isArray(args) ? args : {}) as {
    [name: string]: Json
  }
  const call = buildToolCallEnvelope({ content: '', tool_name: name, parameters, turn: 1, metadata })
  if (result === undefined && error === undefined) return [call]
  const payload = error ? { success: false, error: error.message } : { success: true, tool_data: result as Json }
  const content = error?.message ?? (typeof result === 'string' ? result : JSON.stringify(result))
  return [call, buildToolResultEnvelope({ content, tool_name: name, payload, metadata })]
}
