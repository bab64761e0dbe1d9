// Normalizes plain rows and envelopes of any version to the canonical envelope.
import { type Json, Rejection } from '@postern/message'
import { copyJson, isJsonMap, type JsonMap } from '../json/difference.ts'
import {
  type AgentMessageEnvelope,
  type EnvelopeType,
  envelopeSchemaName,
  envelopeVersion,
  isEnvelopeType,
} from './envelope.ts'

interface NormalizeEnvelopeOptions {
  /** True for the rule of agents-api, by which an object without `version` is a plain row even if it names its schema. Default: false. */
  readonly isStrict?: boolean | undefined
  readonly report?: ((code: 'version_missing' | 'schema_unknown', message: string) => void) | undefined
}

const timeMembers = ['id', 'created_at', 'updated_at'] as const

/** The members that a plain row has in its metadata and an envelope in its payload. */
const payloadMembers: Partial<Record<EnvelopeType, readonly string[]>> = {
  tool_call: ['tool_name', 'parameters', 'turn'],
  tool_result: ['tool_name', 'success', 'turn', 'tool_data', 'media', 'error'],
}

const toolTypes: ReadonlySet<EnvelopeType> = new Set(['tool_result', 'input_required', 'approval_required'])

/**
 * Normalizes a row of role, content and metadata, or an envelope of any version, to the canonical envelope. It invents no id and no time, and
 * drops every member that the envelope does not have. @throws Rejection malformed, with the prefix `invalid_ai_message_envelope:`
 */
export function normalizeEnvelope(value: unknown, options: NormalizeEnvelopeOptions = {}): AgentMessageEnvelope {
  const row = readRow(value)
  const form = isEnvelopeForm(row, options) ? readEnvelopeForm(row, options) : readPlainRow(row)
  const role = dropNull(row.role) ?? (toolTypes.has(form.type) ? 'tool' : 'assistant')
  if (typeof role !== 'string' || role === '') throw refuseEnvelope('role must be a non-empty string')
  const content = dropNull(row.content) ?? ''
  if (typeof content !== 'string' && typeof content !== 'object') {
    throw refuseEnvelope('content must be a string or array')
  }
  const presentMembers = timeMembers.filter(name => typeof row[name] === 'string' && row[name] !== '')
  return {
    schema: envelopeSchemaName,
    version: envelopeVersion,
    type: form.type,
    role,
    content,
    payload: form.payload,
    metadata: readOpenMap(row.metadata),
    ...Object.fromEntries(presentMembers.map(name => [name, row[name]])),
  }
}

/** Normalizes a list of rows or envelopes. @throws Rejection as `normalizeEnvelope`, naming the position */
export function normalizeEnvelopes(
  values: readonly unknown[],
  options: NormalizeEnvelopeOptions = {},
): readonly AgentMessageEnvelope[] {
  return values.map(value => normalizeEnvelope(value, options))
}

function refuseEnvelope(reason: string): Rejection {
  return new Rejection('malformed', `invalid_ai_message_envelope: ${reason}`)
}

interface EnvelopeForm {
  readonly type: EnvelopeType
  readonly payload: JsonMap
}

/** Reads a value as a row. PHP writes an empty map as `[]` and treats any list as an array without names. */
function readRow(value: unknown): JsonMap {
  if (typeof value !== 'object' || value === null) throw refuseEnvelope('message must be an array')
  const row = copyRow(value)
  return isJsonMap(row) ? row : {}
}

function copyRow(value: object): Json {
  try {
    return copyJson(value)
  } catch (cause) {
    throw new Rejection('malformed', 'invalid_ai_message_envelope: envelope must be JSON serializable', { cause })
  }
}

function isEnvelopeForm(row: JsonMap, { isStrict = false }: NormalizeEnvelopeOptions): boolean {
  if (dropNull(row.type) === undefined) return false
  const hasSchema = dropNull(row.schema) !== undefined
  if (dropNull(row.version) === undefined) return !isStrict && hasSchema && isEnvelopeType(row.type)
  return hasSchema || Object.hasOwn(row, 'payload') || Object.hasOwn(row, 'data')
}

function readEnvelopeForm(row: JsonMap, { report }: NormalizeEnvelopeOptions): EnvelopeForm {
  if (dropNull(row.version) === undefined)
    report?.('version_missing', 'an envelope without version is read as version 1')
  else if (coerceInteger(row.version) !== envelopeVersion) throw refuseEnvelope('unsupported version')
  if (dropNull(row.schema) !== undefined && row.schema !== envelopeSchemaName) {
    report?.('schema_unknown', 'an envelope of an unknown schema is read as ours')
  }
  if (!isEnvelopeType(row.type)) throw refuseEnvelope('unsupported type')
  const payload = readOpenMap(row.payload)
  return { type: row.type, payload: Object.keys(payload).length > 0 ? payload : readOpenMap(row.data) }
}

function readPlainRow(row: JsonMap): EnvelopeForm {
  const metadata = readOpenMap(row.metadata)
  const type = inferType(metadata, row.content)
  const names = (payloadMembers[type] ?? []).filter(name => Object.hasOwn(metadata, name))
  return { type, payload: Object.fromEntries(names.map(name => [name, metadata[name]])) }
}

function inferType(metadata: JsonMap, content: Json | undefined): EnvelopeType {
  if (isEnvelopeType(metadata.type)) return metadata.type
  if (metadata.type === 'multimodal' || (typeof content === 'object' && content !== null)) return 'multimodal_part'
  return dropNull(metadata.error) === undefined ? 'text' : 'error'
}

/** Reads a map. `[]` is the empty map, a list becomes a map of its positions, and any other value is an empty map. */
function readOpenMap(value: Json | undefined): JsonMap {
  if (Array.isArray(value)) return Object.fromEntries(value.entries())
  return isJsonMap(value) ? value : {}
}

function dropNull(value: Json | undefined): Json | undefined {
  return value === null ? undefined : value
}

/** Converts a value to an integer as PHP does. */
function coerceInteger(value: Json | undefined): number {
  if (typeof value === 'string') return Math.trunc(Number.parseFloat(value)) || 0
  if (typeof value === 'object' && value !== null) return Number(Object.keys(value).length > 0)
  return Math.trunc(Number(value))
}
