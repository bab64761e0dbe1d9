import type { ArtifactPart, FilePart, LinkPart, Part } from '@postern/core'

/** Where stored bytes are read, by their digest. */
export type FileAddress = ((digest: string) => string) | undefined

/** Separates the blocks of one message. */
export const blockBreak = '\n\n'

/** A file in the metadata of the message whose text links to it. */
export interface ShownFile {
  readonly kind: 'file' | 'artifact'
  readonly name?: string | undefined
  readonly mime_type?: string | undefined
  readonly size?: number | undefined
  readonly sha256?: string | undefined
  readonly url?: string | undefined
}

export function writeBlocks(parts: readonly Part[], fileAddress: FileAddress): string {
  const blocks = parts.map(part => (part.kind === 'tool_call' ? '' : writeBlock(part, fileAddress)))
  return blocks.filter(Boolean).join(blockBreak)
}

export function listFiles(parts: readonly Part[], fileAddress: FileAddress): readonly ShownFile[] {
  return parts.flatMap(part => (part.kind === 'file' || part.kind === 'artifact' ? [showFile(part, fileAddress)] : []))
}

function showFile(part: FilePart | ArtifactPart, fileAddress: FileAddress): ShownFile {
  const { kind, name, mime, size, bytes_ref } = part
  const url = addressOf(part, fileAddress)
  return {
    kind,
    ...(name !== undefined && { name }),
    ...(mime !== undefined && { mime_type: mime }),
    ...(size !== undefined && { size }),
    ...(bytes_ref.kind === 'content_addressed' && { sha256: bytes_ref.digest }),
    ...(url !== undefined && { url }),
  }
}

function addressOf({ bytes_ref }: FilePart | ArtifactPart, fileAddress: FileAddress): string | undefined {
  const url = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  return url ?? (bytes_ref.kind === 'url' && isFollowed(bytes_ref.url) ? bytes_ref.url : undefined)
}

/** Markdown for what text cannot show, because an assistant's content is one string. */
export function writeBlock(part: Part, fileAddress: FileAddress): string {
  if (part.kind === 'text') return part.content
  if (part.kind === 'link') return writeLink(part)
  if (part.kind === 'policy') return part.policy.message
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  const { name = 'file' } = part
  const address = addressOf(part, fileAddress)
  return address === undefined ? name : writeLink({ url: address, title: name })
}

/** Only pages and mailboxes: in a browser other addresses may run code. */
function isFollowed(url: string): boolean {
  return /^(https?|mailto):$/.test(URL.parse(url)?.protocol ?? '')
}

function writeLink({ url, title = url }: Pick<LinkPart, 'url' | 'title'>): string {
  if (!isFollowed(url)) return title
  return `[${title.replace(/[[\]\\]/g, '\\$&')}](${new URL(url).href.replace(/[()]/g, mark => (mark === '(' ? '%28' : '%29'))})`
}
