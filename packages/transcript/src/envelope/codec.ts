// Translates between `agents-api.message` envelopes and transcript entries.
import type { Json } from '@postern/message'
import { createCodec } from '../codec/create-codec.ts'
import type { CodecFinding, Dialect, ReadContext } from '../codec/dialect.ts'
import { createMarkerFunctions } from '../codec/dialect.ts'
import type { EntryBody, TranscriptEntry } from '../entry/entry.ts'
import { formatPlainTime, readEntryUsage, textOfContent, writeEntryDecision } from '../entry/entry.ts'
import type { EntryKind } from '../entry/kind.ts'
import { messageIdOf } from '../entry/message-id.ts'
import type { JsonMap } from '../json/difference.ts'
import { diffJson, isJsonMap, presentMembers } from '../json/difference.ts'
import type { AgentMessageEnvelope, EnvelopeType } from './envelope.ts'
import { envelopeSchemaName, envelopeVersion } from './envelope.ts'
import { normalizeEnvelope } from './normalize.ts'
import { readEnvelopeDraft } from './read.ts'

const envelopeMembers: ReadonlySet<string> = new Set([
  'schema',
  'version',
  'type',
  'role',
  'content',
  'payload',
  'data',
  'metadata',
])

const dialect: Dialect<AgentMessageEnvelope> = {
  format: 'envelope',
  parse: (value, report) => normalizeEnvelope(value, { report }),
  toDrafts: (message, reading) => [readEnvelopeDraft(message, reading)],
  countMessageEntries: () => 1,
  toMessage: ([entry]) => writeEnvelope(entry),
  listDropped(value) {
    if (!isJsonMap(value)) return undefined
    const normalized: JsonMap = normalizeEnvelope(value)
    const droppedMembers = Object.entries(value).filter(
      ([name]) => !envelopeMembers.has(name) && !Object.hasOwn(normalized, name),
    )
    return droppedMembers.length > 0 ? Object.fromEntries(droppedMembers) : undefined
  },
  ...createMarkerFunctions<AgentMessageEnvelope>('metadata'),
  comparableMembersOf: ({ type, role, content, payload }) => ({ type, role, content, payload }),
  dropOwnId({ id: _, ...message }) {
    return message
  },
}

/** The codec of message envelopes. It reads rows and envelopes of any version and writes canonical envelopes. */
export const envelopeCodec = createCodec(dialect)

/** The nearest legal type of a kind. Absent for `text`. If the type differs from the kind, the metadata names the kind. */
const typesByKind: Partial<Record<EntryKind, EnvelopeType>> = {
  delta: 'delta',
  tool_call: 'tool_call',
  tool_result: 'tool_result',
  input_required: 'input_required',
  approval_required: 'approval_required',
  policy: 'input_required',
  final: 'final_result',
  error: 'error',
  delegation: 'tool_call',
  synthesis: 'final_result',
  rescue: 'error',
  navigation: 'tool_call',
}

/** Writes an entry as an envelope, from its canonical members only. */
function writeEnvelope(entry: EntryBody): AgentMessageEnvelope {
  const type = typeOfEntry(entry)
  return {
    schema: envelopeSchemaName,
    version: envelopeVersion,
    type,
    role: entry.role === 'marker' ? 'system' : entry.role,
    content: writeContent(entry),
    payload: writePayload(type, entry),
    metadata: writeMetadata(entry),
    id: messageIdOf(entry),
    created_at: formatPlainTime(entry.at),
  }
}

function typeOfEntry({ kind, content }: EntryBody): EnvelopeType {
  const isPlain =
    'value' in content ? typeof content.value === 'string' : content.parts.every(part => part.kind === 'text')
  return kind === 'text' && !isPlain ? 'multimodal_part' : (typesByKind[kind] ?? 'text')
}

function writeContent({ content }: EntryBody): Json {
  if ('value' in content) return isEnvelopeContent(content.value) ? content.value : textOfContent(content)
  const isPlain = content.parts.every(part => part.kind === 'text')
  return isPlain ? textOfContent(content) : (content.parts as readonly Json[])
}

function isEnvelopeContent(value: Json): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function writePayload(type: EnvelopeType, entry: EntryBody): JsonMap {
  const { tool, wait, turn_no, phase_id, agent_key, kind } = entry
  if (type === 'tool_call')
    return presentMembers({ tool_name: tool?.name ?? kind, parameters: tool?.args ?? {}, turn: turn_no })
  if (type === 'tool_result') return writeResultPayload(entry)
  if (wait)
    return typeof wait.action === 'object' && wait.action !== null ? (wait.action as JsonMap) : { action_id: wait.id }
  if (kind !== 'synthesis') return {}
  return presentMembers({ from_manager: agent_key, phase_id })
}

function writeResultPayload({ tool, turn_no }: EntryBody): JsonMap {
  const { name, success, result, error } = tool ?? {}
  return presentMembers({ tool_name: name, success, turn: turn_no, tool_data: result, error: error?.message })
}

function writeMetadata({ tool, wait, usage, decided_by }: EntryBody): JsonMap {
  const waitMembers = wait && wait.state !== 'open' ? { action_id: wait.id, action_status: wait.state } : {}
  const callMembers = tool ? { tool_call_id: tool.call_id, ...waitMembers } : {}
  return presentMembers({ ...callMembers, ...writeEntryDecision(decided_by), usage: readEntryUsage(usage) })
}

/**
 * Reconciles a whole list with the stored entries. Messages with the same position and content are the stored entries, markers identify their
 * entries, and only the remaining messages are new. A finding about a message names its position.
 */
export function reconcileEnvelopes(
  storedEntries: readonly TranscriptEntry[],
  messages: readonly unknown[],
  context: Pick<ReadContext, 'thread_id' | 'at' | 'newId' | 'report'>,
): readonly EntryBody[] {
  const renderedRows = envelopeCodec.write(storedEntries)
  const findings: CodecFinding[] = []
  const expectedRows = messages.map((value, index) =>
    normalizeEnvelope(value, { report: (code, message) => findings.push({ code, message, index }) }),
  )
  const end = expectedRows.findIndex((message, index) => !isSameEnvelope(message, renderedRows[index]))
  const unchangedCount = end < 0 ? expectedRows.length : end
  const byId = new Map(storedEntries.map(entry => [entry.entry_id, entry]))
  // The findings about the new messages come from `envelopeCodec.read`.
  const reportedFindings = findings.filter(({ index }) => index < unchangedCount)
  const newEntries = envelopeCodec.read(messages.slice(unchangedCount), {
    ...context,
    find: id => byId.get(id),
    report: finding => reportedFindings.push({ ...finding, index: unchangedCount + finding.index }),
  })
  for (const finding of reportedFindings) context.report?.(finding)
  return [...storedEntries.slice(0, unchangedCount), ...newEntries]
}

function isSameEnvelope(a: AgentMessageEnvelope, b: AgentMessageEnvelope | undefined): boolean {
  return b !== undefined && diffJson(a, b) === undefined
}
