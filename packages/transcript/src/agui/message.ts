// Validates AG-UI messages and converts their parts and token usage.
import type { BytesRef, FilePart, Json, Part, TokenUsage } from '@postern/message'
import { parseUrl, tokenUsageSchema } from '@postern/message'
import { z } from 'zod'
import { readEntryUsage, withSubject } from '../entry/entry.ts'
import type { JsonMap } from '../json/difference.ts'
import { isJsonMap } from '../json/difference.ts'
import { jsonMapSchema, parseForeign } from '../json/schema.ts'

const commonShape = { id: z.string(), name: z.string().optional(), metadata: jsonMapSchema.optional() }

const sourceSchema = z.union([
  z.looseObject({ type: z.literal('data'), value: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('url'), value: z.string(), mimeType: z.string().optional() }),
  z.looseObject({ type: z.literal('file'), value: z.string(), mimeType: z.string().optional() }),
])
const mediaSchema = z.looseObject({ type: z.enum(['image', 'audio', 'video', 'document']), source: sourceSchema })
const textSchema = z.looseObject({ type: z.literal('text'), text: z.string() })
/** An uploaded file with its signed address. It belongs to the older chat format, not to AG-UI 1.0. */
const binarySchema = z.looseObject({
  type: z.literal('binary'),
  mimeType: z.string(),
  url: z.string().optional(),
  data: z.string().optional(),
  id: z.string().optional(),
  filename: z.string().optional(),
})
const aguiPartSchema = z.union([textSchema, mediaSchema, binarySchema])
const contentSchema = z.union([z.string(), z.array(aguiPartSchema)])

const aguiToolCallSchema = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
})

const aguiMessageSchema = z.discriminatedUnion('role', [
  z.looseObject({ ...commonShape, role: z.literal('user'), content: contentSchema }),
  z.looseObject({
    ...commonShape,
    role: z.literal('assistant'),
    content: z.string().optional(),
    toolCalls: z.array(aguiToolCallSchema).optional(),
  }),
  z.looseObject({ ...commonShape, role: z.literal('system'), content: z.string() }),
  z.looseObject({ ...commonShape, role: z.literal('developer'), content: z.string() }),
  z.looseObject({
    ...commonShape,
    role: z.literal('tool'),
    toolCallId: z.string(),
    content: contentSchema,
    error: z.string().optional(),
  }),
  z.looseObject({ ...commonShape, role: z.literal('activity'), activityType: z.string(), content: jsonMapSchema }),
  z.looseObject({ ...commonShape, role: z.literal('reasoning'), content: z.string() }),
])

export type AguiPart = z.infer<typeof aguiPartSchema>
export type AguiRole = z.infer<typeof aguiMessageSchema>['role']
export type AguiToolCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
/** A message of AG-UI 1.0 or of the older chat format. Its role determines its other members. */
export type AguiMessage = {
  readonly id: string
  readonly role: AguiRole
  readonly name?: string | undefined
  readonly content?: Json | undefined
  readonly toolCalls?: readonly AguiToolCall[] | undefined
  readonly toolCallId?: string | undefined
  readonly error?: string | undefined
  readonly activityType?: string | undefined
  readonly metadata?: JsonMap | undefined
}

/** Parses an AG-UI message. @throws Rejection malformed, naming the member */
export function parseAguiMessage(value: unknown): AguiMessage {
  return parseForeign(aguiMessageSchema as unknown as z.ZodType<AguiMessage>, value, 'AG-UI message')
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Reads the parts of an AG-UI message as our own parts. Bytes that only the client can identify (an opaque file id) stay residue. */
export function readAguiParts(content: string | readonly AguiPart[]): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', mime: 'text/plain', content }]
  return content.map(readAguiPart).filter(part => part !== undefined)
}

/**
 * Writes our parts as the content of an AG-UI message. A single text is a string. Parts that AG-UI lacks are described in text or omitted.
 */
export function writeAguiParts(parts: readonly Part[]): Json {
  const [onlyPart] = parts
  if (parts.length === 1 && onlyPart?.kind === 'text') return onlyPart.content
  const renderedParts = withSubject(parts).flatMap(part => writeAguiPart(part) ?? [])
  return renderedParts.length === 0 ? '' : renderedParts
}

function readAguiPart(part: AguiPart): Part | undefined {
  if (part.type === 'text') return { kind: 'text', mime: 'text/plain', content: part.text }
  if (part.type === 'binary') return readBinary(part)
  const { source } = part
  if (source.type === 'data') return readInline(source.value, source.mimeType)
  return source.type === 'url' ? readLinked(source.value, source.mimeType) : undefined
}

function readBinary(part: Extract<AguiPart, { type: 'binary' }>): Part | undefined {
  const file = part.url === undefined ? readInline(part.data ?? '', part.mimeType) : readLinked(part.url, part.mimeType)
  return file?.kind === 'file' && part.filename !== undefined ? { ...file, name: part.filename } : file
}

function readInline(data_base64: string, mime: string): FilePart | undefined {
  if (data_base64 === '' || !base64Pattern.test(data_base64)) return undefined
  return { kind: 'file', mime, bytes_ref: { kind: 'inline', data_base64 } }
}

function readLinked(url: string, mime: string | undefined): Part {
  if (!parseUrl(url)) return { kind: 'link', url }
  return { kind: 'file', ...(mime !== undefined && { mime }), bytes_ref: { kind: 'url', url } }
}

function writeAguiPart(part: Part): Json | undefined {
  if (part.kind === 'text') return { type: 'text', text: part.content }
  if (part.kind === 'file' || part.kind === 'artifact') return writeFile(part.mime, part.bytes_ref, part.name)
  if (part.kind === 'link') return { type: 'text', text: part.title ? `${part.title}: ${part.url}` : part.url }
  return part.kind === 'policy' ? { type: 'text', text: part.policy.message } : undefined
}

function writeFile(mime: string | undefined, ref: BytesRef, name: string | undefined): Json {
  const [family = ''] = (mime ?? '').split('/')
  const type = family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
  const mimeType = mime ?? 'application/octet-stream'
  if (ref.kind === 'inline') return { type, source: { type: 'data', value: ref.data_base64, mimeType } }
  if (ref.url !== undefined) return { type, source: { type: 'url', value: ref.url, mimeType } }
  return { type: 'text', text: name ?? mimeType }
}

/** The names of AG-UI's TokenUsage by our names. They are our names in camel case. */
const aguiNames = Object.fromEntries(Object.keys(tokenUsageSchema.shape).map(name => [name, toCamelCase(name)]))
const ownNames = Object.fromEntries(Object.entries(aguiNames).map(([ownName, agui]) => [agui, ownName]))

type CamelCase<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name

/** The TokenUsage of AG-UI 1.0. */
export type AguiUsage = { [Name in keyof TokenUsage as CamelCase<Name>]: Exclude<TokenUsage[Name], undefined> }

/** Writes usage in the form of AG-UI. Returns undefined if there is no usage. */
export function writeAguiUsage(usage: Json | undefined): AguiUsage[] | undefined {
  return readEntryUsage(usage)?.map(modelUsage => renameMembers(modelUsage, aguiNames))
}

/** Reads usage from AG-UI. Returns undefined if it has unknown members or counts differently. */
export function readAguiUsage(usage: Json | undefined): Json | undefined {
  if (!Array.isArray(usage) || !usage.every(isAguiUsage)) return undefined
  return readEntryUsage(usage.map(modelUsage => renameMembers(modelUsage, ownNames)))
}

function isAguiUsage(value: Json): value is { readonly [name: string]: Json } {
  return isJsonMap(value) && Object.keys(value).every(name => Object.hasOwn(ownNames, name))
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function renameMembers(members: object, names: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [names[name] ?? name, value]))
}
