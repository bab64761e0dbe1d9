// Reads the files that a person sends with a chat message.
import { hash } from 'node:crypto'
import type { ContentPart } from '@ag-ui/core'
import type { FilePart, ParsedUrl, Part } from '@postern/message'
import { isJsonObject, parseUrl } from '@postern/message'
import type { Blob } from '@postern/pipeline'
import type { WebAttachments } from '../attachments/attachment-store.ts'

export interface RunContent {
  readonly parts: readonly Part[]
  readonly blobs: readonly Blob[]
  readonly warnings: readonly string[]
  /** The texts and addresses that the parts contain without change, in order. A replay restores their tokens by this order. */
  readonly verbatimTexts?: readonly string[]
}

export interface PartContext {
  readonly owner: string
  readonly threadId: string
  readonly runId: string
}

export const emptyContent: RunContent = { parts: [], blobs: [], warnings: [] }

/**
 * Reads a file part. A file of the user is read as bytes, and any other file stays an address.
 * @throws Rejection too_large, unsupported
 */
export async function readFilePart(
  part: Exclude<ContentPart, { type: 'text' }>,
  context: PartContext,
  attachments: WebAttachments,
): Promise<RunContent> {
  const { source } = part
  const name = readFileName(part.metadata)
  if (source.type === 'file') return { ...emptyContent, warnings: ['a file that only its provider knows was left out'] }
  if (source.type === 'data') return storeData(source.value, { ...context, name }, attachments)
  const object = await attachments.findByUrl(context.owner, source.value)
  // A signed URL of this gateway that gives this person no access becomes a plain link.
  if (!object && attachments.hasTrustedOrigin(source.value)) return toLinkContent(source.value)
  if (!object) return toAddressContent(source.value, { name, mime: source.mimeType })
  const bytes = await attachments.readObject(object)
  return bytes
    ? toFileContent(name ?? lastSegmentOf(object.path), object.mime, bytes)
    : { ...emptyContent, warnings: ['an attachment is gone'] }
}

/** Returns the file name in the metadata of a part, which a `binary` part or the sender supplies. */
function readFileName(metadata: unknown): string | undefined {
  const name = isJsonObject(metadata) ? metadata.filename : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

function lastSegmentOf(path: string): string | undefined {
  return path.split('/').at(-1) || undefined
}

type NamedPartContext = PartContext & { readonly name: string | undefined }

async function storeData(base64: string, context: NamedPartContext, attachments: WebAttachments): Promise<RunContent> {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
  const object = await attachments.store({ ...context, bytes })
  return toFileContent(context.name ?? lastSegmentOf(object.path), object.mime, bytes)
}

function toFileContent(name: string | undefined, mime: string, bytes: Uint8Array): RunContent {
  const digest = hash('sha256', bytes)
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  return {
    parts: [{ kind: 'file', ...(name && { name }), mime, size: bytes.byteLength, bytes_ref }],
    blobs: [{ digest, bytes, mime }],
    warnings: [],
  }
}

/** Returns a link without the query, which may be a credential. */
function toLinkContent(url: string): RunContent {
  const parsedUrl = parsePageUrl(url)
  if (!parsedUrl) return invalidAddressContent
  const displayUrl = `${parsedUrl.origin}${parsedUrl.pathname}`
  return { ...emptyContent, parts: [{ kind: 'link', url: displayUrl }], verbatimTexts: [displayUrl] }
}

const invalidAddressContent = {
  ...emptyContent,
  warnings: ['an address that is no plain http or https URL was left out'],
}

/** Parses the URL of a page. Returns undefined for another scheme, and for a URL with a user name or password. */
function parsePageUrl(url: string): ParsedUrl | undefined {
  const parsedUrl = parseUrl(url)
  return parsedUrl && /^https?:$/.test(parsedUrl.protocol) && !parsedUrl.username && !parsedUrl.password
    ? parsedUrl
    : undefined
}

type FileFacts = Pick<FilePart, 'name' | 'mime'>

/** Returns a part for a file at another address. The address is opaque: its query is a part of it, and often gives access to the file. */
function toAddressContent(url: string, { name, mime }: FileFacts): RunContent {
  if (!parsePageUrl(url)) return invalidAddressContent
  const facts = { ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) }
  return {
    ...emptyContent,
    parts: [{ kind: 'file', ...facts, bytes_ref: { kind: 'url', url } }],
    verbatimTexts: [url],
  }
}
