// Reads the input of a run (AG-UI 1.0), including that of earlier clients.
import type { ContentPart, RunAgentInput } from '@ag-ui/core'
import { omitOptionalNulls } from '@ag-ui/core'
import { isJsonObject, Rejection } from '@postern/message'
import { lazy } from '@postern/message/lazy'

/** The input of a run in the form of AG-UI 1.0. */
interface ParsedRunInput {
  readonly input: RunAgentInput
  /** The members that the gateway did not understand and left out, one sentence each. */
  readonly warnings: readonly string[]
}

/** The schemas are loaded with the first run. */
const loadSchemas = lazy(() => import('@ag-ui/core/schemas'))

const maxNameChars = 256

/** The limits of a run. They are checked before the schema, which would take seconds for hundreds of thousands of items. */
const maxItems = { messages: 2_000, tools: 512, context: 512, resume: 64 } as const

const maxMembers = 64

/** The maximum number of parts in all messages together. */
const maxParts = 8_000

const inputMembers: ReadonlySet<string> = new Set([
  'threadId',
  'runId',
  'protocolVersion',
  'parentRunId',
  'state',
  'messages',
  'tools',
  'context',
  'forwardedProps',
  'resume',
])

/**
 * Reads a `RunAgentInput` (AG-UI 1.0). It converts the `binary` parts of earlier versions.
 * @throws Rejection malformed, naming the members
 */
export async function readRunInput(document: unknown): Promise<ParsedRunInput> {
  const warnings: string[] = []
  if (!isJsonObject(document)) throw new Rejection('malformed', 'Cannot run: the body is no JSON object')
  checkCounts(document)
  const unknownMembers = Object.keys(document).filter(name => !inputMembers.has(name))
  if (unknownMembers.length > 0)
    warnings.push(`unknown members were left out: ${unknownMembers.slice(0, 8).join(', ')}`)
  const inputEntries = Object.fromEntries(Object.entries(document).filter(([name]) => inputMembers.has(name)))
  const messages = Array.isArray(document.messages)
    ? document.messages.map(message => translateMessage(message, warnings))
    : undefined
  // Clients of earlier versions send null for absent members.
  const inputDocument = omitOptionalNulls({ ...inputEntries, ...(messages && { messages }) }, 'RunAgentInput')
  const { RunAgentInputSchema } = await loadSchemas()
  const parseResult = RunAgentInputSchema.safeParse({ tools: [], context: [], ...inputDocument })
  if (!parseResult.success) throw refuseIssues(parseResult.error.issues)
  const input = parseResult.data as RunAgentInput
  for (const name of ['threadId', 'runId'] as const) checkName(name, input[name])
  for (const [index, { id }] of input.messages.entries()) checkName(`messages.${index}.id`, id)
  return { input, warnings }
}

function checkCounts(document: Record<string, unknown>): void {
  if (Object.keys(document).length > maxMembers) throw refuseCount(maxMembers, 'members')
  for (const [name, maxCount] of Object.entries(maxItems)) {
    const list = document[name]
    if (Array.isArray(list) && list.length > maxCount) throw refuseCount(maxCount, name)
  }
  const messages: readonly unknown[] = Array.isArray(document.messages) ? document.messages : []
  let partCount = 0
  for (const message of messages)
    partCount += isJsonObject(message) && Array.isArray(message.content) ? message.content.length : 0
  if (partCount > maxParts) throw refuseCount(maxParts, 'parts of messages')
}

function refuseCount(maxCount: number, memberName: string): Rejection {
  return new Rejection('too_large', `Cannot run: more than ${maxCount} ${memberName}`)
}

function checkName(member: string, value: string): void {
  if (value.length > 0 && value.length <= maxNameChars && value.isWellFormed() && !value.includes('\0')) return
  const description = `must have 1 to ${maxNameChars} characters, and no NUL`
  throw new Rejection('malformed', `Cannot run: ${member} ${description}`, {
    violations: [{ field: member, description }],
  })
}

function refuseIssues(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): Rejection {
  const violations = issues.slice(0, 16).map(({ path, message }) => ({ field: path.join('.'), description: message }))
  return new Rejection('malformed', `Cannot run: ${violations[0]?.field ?? 'body'} is not as it must be`, {
    violations,
  })
}

/**
 * Converts `binary` parts. The media type decides whether such a part becomes an image, a sound, a video or a document. A part without bytes and
 * address is dropped.
 */
function translateMessage(message: unknown, warnings: string[]): unknown {
  if (!isJsonObject(message) || !Array.isArray(message.content)) return message
  return { ...message, content: message.content.flatMap(part => translatePart(part, warnings)) }
}

const partTypesByFamily: Readonly<Record<string, ContentPart['type']>> = {
  image: 'image',
  audio: 'audio',
  video: 'video',
}

function translatePart(part: unknown, warnings: string[]): readonly unknown[] {
  if (!isJsonObject(part) || part.type !== 'binary') return [part]
  const { mimeType, url, data, filename } = part
  const type = partTypesByFamily[readMimeType(mimeType).split('/')[0] ?? ''] ?? 'document'
  const metadata = { ...(typeof filename === 'string' && { metadata: { filename } }) }
  if (typeof url === 'string') return [{ type, source: { type: 'url', value: url, mimeType }, ...metadata }]
  if (typeof data === 'string') return [{ type, source: { type: 'data', value: data, mimeType }, ...metadata }]
  warnings.push('a binary part without bytes or address was left out')
  return []
}

/** Reads a media type. @throws Rejection malformed */
function readMimeType(value: unknown): string {
  if (value !== undefined && value !== null && typeof value !== 'string') {
    throw refuseIssues([{ path: ['messages', 'content', 'mimeType'], message: 'must be a string' }])
  }
  return value ?? ''
}
