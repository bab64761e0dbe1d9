import { hash } from 'node:crypto'
import type { ContentPart, Message, RunAgentInput } from '@ag-ui/core'
import { omitOptionalNulls } from '@ag-ui/core'
import type { Blob, IntakeSteps, Part, RefusalPlace } from '@postern/core'
import { isJsonObject, parseUrl, Rejection } from '@postern/core'
import { lazy } from '@postern/core/lazy'
import type { WebAttachments } from '../attachments/attachment-store.ts'
import type { WebOwner } from '../verify.ts'

/** A run as the client asked for it, before the gateway stores anything. */
export interface AskedRun {
  readonly owner: WebOwner
  readonly agent: string
  readonly input: RunAgentInput
  readonly document: unknown
  /** The checks so far. */
  readonly steps: IntakeSteps
  readonly place: RefusalPlace
}

/** What a client posts to have an agent run, in the words of AG-UI 1.0. */
interface RunRequest {
  readonly input: RunAgentInput
  /** What the gateway did not understand and left out, one sentence each. */
  readonly warnings: readonly string[]
}

/** They are loaded with the first run. */
const loadSchemas = lazy(() => import('@ag-ui/core/schemas'))

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
export async function readRunInput(document: unknown): Promise<RunRequest> {
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
  const { RunAgentInputSchema } = await loadSchemas()
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

export interface ReadContent {
  readonly parts: readonly Part[]
  readonly blobs: readonly Blob[]
  readonly warnings: readonly string[]
}

interface PartPlace {
  readonly owner: string
  readonly threadId: string
  readonly runId: string
}

/**
 * The content of a user's message as the agent reads it: the user's own files as bytes, every other address as a link. @throws Rejection
 * too_large, unsupported (of bytes that came along)
 */
export async function readContentParts(
  content: Message['content'],
  place: PartPlace,
  attachments: WebAttachments,
): Promise<ReadContent> {
  if (typeof content === 'string') return { parts: writeText(content), blobs: [], warnings: [] }
  const read: ReadContent[] = []
  // One after the other, because all files at once may not fit in memory.
  for (const part of Array.isArray(content) ? content : []) read.push(await readPart(part, place, attachments))
  return {
    parts: read.flatMap(({ parts }) => parts),
    blobs: read.flatMap(({ blobs }) => blobs),
    warnings: read.flatMap(({ warnings }) => warnings),
  }
}

/** How many files are said: read again in every copy, a large one would fill the memory. */
export function countFiles(contents: readonly Message['content'][]): number {
  const parts = contents.flatMap(content => (Array.isArray(content) ? content : []))
  return parts.filter(part => part.type !== 'text').length
}

const nothing: ReadContent = { parts: [], blobs: [], warnings: [] }

async function readPart(part: ContentPart, place: PartPlace, attachments: WebAttachments): Promise<ReadContent> {
  if (part.type === 'text') return { ...nothing, parts: writeText(part.text) }
  const { source } = part
  if (source.type === 'file') return { ...nothing, warnings: ['a file that only its provider knows was left out'] }
  if (source.type === 'data') return takeData(source.value, place, attachments)
  const object = await attachments.findByUrl(place.owner, source.value)
  if (!object) return readLink(source.value)
  const bytes = await attachments.readObject(object)
  return bytes ? writeFile(object.path, object.mime, bytes) : { ...nothing, warnings: ['an attachment is gone'] }
}

async function takeData(base64: string, place: PartPlace, attachments: WebAttachments): Promise<ReadContent> {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
  const object = await attachments.store({ ...place, bytes })
  return writeFile(object.path, object.mime, bytes)
}

function writeFile(path: string, mime: string, bytes: Uint8Array): ReadContent {
  const digest = hash('sha256', bytes)
  const name = path.split('/').at(-1)
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  return {
    parts: [{ kind: 'file', ...(name && { name }), mime, size: bytes.byteLength, bytes_ref }],
    blobs: [{ digest, bytes, mime }],
    warnings: [],
  }
}

function writeText(content: string): readonly Part[] {
  return content === '' ? [] : [{ kind: 'text', mime: 'text/plain', content }]
}

/** The address without its query, which may hold a credential. */
function readLink(url: string): ReadContent {
  const parsed = parseUrl(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) {
    return { ...nothing, warnings: ['an address that is no plain http or https URL was left out'] }
  }
  return { ...nothing, parts: [{ kind: 'link', url: `${parsed.origin}${parsed.pathname}` }] }
}

/** Whether it is a client of AG-UI 0.0.x. Clients name their version from 1.0 on. */
export function isEarlierClient({ protocolVersion = '' }: Pick<RunAgentInput, 'protocolVersion'>): boolean {
  return !/^[1-9]\d*(\.|$)/.test(protocolVersion)
}
