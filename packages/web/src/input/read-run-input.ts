import type { ContentPart, RunAgentInput } from '@ag-ui/core'
import { omitOptionalNulls } from '@ag-ui/core'
import { RunAgentInputSchema } from '@ag-ui/core/schemas'
import { isJsonObject, Rejection } from '@postern/core'

/** What a client posts to have an agent run, in the words of AG-UI 1.0. */
interface RunRequest {
  readonly input: RunAgentInput
  /** What the gateway did not understand and left out, one sentence each. */
  readonly warnings: readonly string[]
}

const maxName = 256
/** Bounds of a run. They are checked before the schema parses it, which takes seconds for hundreds of thousands of items. */
const mostOf = { messages: 2_000, tools: 512, context: 512, resume: 64 } as const
const mostMembers = 64
/** Of all messages. */
const mostParts = 8_000
const knownMembers: ReadonlySet<string> = new Set([
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

/** `RunAgentInput` (AG-UI 1.0). Converts the `binary` parts of earlier versions. @throws Rejection malformed, naming the members */
export function readRunInput(document: unknown): RunRequest {
  const warnings: string[] = []
  if (!isJsonObject(document)) throw new Rejection('malformed', 'Cannot run: the body is no JSON object')
  checkCounts(document)
  const unknown = Object.keys(document).filter(name => !knownMembers.has(name))
  if (unknown.length > 0) warnings.push(`unknown members were left out: ${unknown.slice(0, 8).join(', ')}`)
  const known = Object.fromEntries(Object.entries(document).filter(([name]) => knownMembers.has(name)))
  const messages = Array.isArray(document.messages)
    ? document.messages.map(each => translate(each, warnings))
    : undefined
  // Clients of earlier versions send null for absent members.
  const said = omitOptionalNulls({ ...known, ...(messages && { messages }) }, 'RunAgentInput')
  const parsed = RunAgentInputSchema.safeParse({ tools: [], context: [], ...said })
  if (!parsed.success) throw refuse(parsed.error.issues)
  const input = parsed.data as RunAgentInput
  for (const name of ['threadId', 'runId'] as const) checkName(name, input[name])
  for (const [at, { id }] of input.messages.entries()) checkName(`messages.${at}.id`, id)
  return { input, warnings }
}

function checkCounts(document: Record<string, unknown>): void {
  if (Object.keys(document).length > mostMembers) throw refuseCount(mostMembers, 'members')
  for (const [name, most] of Object.entries(mostOf)) {
    const list = document[name]
    if (Array.isArray(list) && list.length > most) throw refuseCount(most, name)
  }
  const messages: readonly unknown[] = Array.isArray(document.messages) ? document.messages : []
  let parts = 0
  for (const message of messages)
    parts += isJsonObject(message) && Array.isArray(message.content) ? message.content.length : 0
  if (parts > mostParts) throw refuseCount(mostParts, 'parts of messages')
}

function refuseCount(most: number, what: string): Rejection {
  return new Rejection('too_large', `Cannot run: more than ${most} ${what}`)
}

function checkName(member: string, value: string): void {
  if (value.length > 0 && value.length <= maxName && value.isWellFormed() && !value.includes('\0')) return
  const description = `must have 1 to ${maxName} characters, and no NUL`
  throw new Rejection('malformed', `Cannot run: ${member} ${description}`, {
    violations: [{ field: member, description }],
  })
}

function refuse(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): Rejection {
  const violations = issues.slice(0, 16).map(({ path, message }) => ({ field: path.join('.'), description: message }))
  return new Rejection('malformed', `Cannot run: ${violations[0]?.field ?? 'body'} is not as it must be`, {
    violations,
  })
}

/** A `binary` part becomes an image, a sound, a video or a document by its type. Without bytes and address it is dropped. */
function translate(message: unknown, warnings: string[]): unknown {
  if (!isJsonObject(message) || !Array.isArray(message.content)) return message
  return { ...message, content: message.content.flatMap(part => translatePart(part, warnings)) }
}

const families: Readonly<Record<string, ContentPart['type']>> = { image: 'image', audio: 'audio', video: 'video' }

function translatePart(part: unknown, warnings: string[]): readonly unknown[] {
  if (!isJsonObject(part) || part.type !== 'binary') return [part]
  const { mimeType, url, data, filename } = part
  const type = families[readMimeType(mimeType).split('/')[0] ?? ''] ?? 'document'
  const named = { ...(typeof filename === 'string' && { metadata: { filename } }) }
  if (typeof url === 'string') return [{ type, source: { type: 'url', value: url, mimeType }, ...named }]
  if (typeof data === 'string') return [{ type, source: { type: 'data', value: data, mimeType }, ...named }]
  warnings.push('a binary part without bytes or address was left out')
  return []
}

/** @throws Rejection malformed */
function readMimeType(value: unknown): string {
  if (value !== undefined && value !== null && typeof value !== 'string') {
    throw refuse([{ path: ['messages', 'content', 'mimeType'], message: 'must be a string' }])
  }
  return value ?? ''
}
