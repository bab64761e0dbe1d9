import { hash } from 'node:crypto'
import type { ContentPart } from '@ag-ui/core'
import type { Blob, Part } from '@postern/core'
import { parseUrl } from '@postern/core'
import type { WebAttachments } from '../attachments/attachment-store.ts'

export interface ReadContent {
  readonly parts: readonly Part[]
  readonly blobs: readonly Blob[]
  readonly warnings: readonly string[]
}

export interface PartPlace {
  readonly owner: string
  readonly threadId: string
  readonly runId: string
}

export const nothing: ReadContent = { parts: [], blobs: [], warnings: [] }

/** A file of the user as its bytes, every other address as a link. @throws Rejection too_large, unsupported */
export async function readFilePart(
  part: Exclude<ContentPart, { type: 'text' }>,
  place: PartPlace,
  attachments: WebAttachments,
): Promise<ReadContent> {
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

/** The address without its query, which may hold a credential. */
function readLink(url: string): ReadContent {
  const parsed = parseUrl(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) {
    return { ...nothing, warnings: ['an address that is no plain http or https URL was left out'] }
  }
  return { ...nothing, parts: [{ kind: 'link', url: `${parsed.origin}${parsed.pathname}` }] }
}
