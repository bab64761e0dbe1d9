// Renders an agent's response as the Markdown and files that a chat shows.
import { htmlToMarkdown } from '@postern/markup/html'
import type { ArtifactPart, FilePart, Json, LinkPart, NormalizedResponse, Part, RefusalKind } from '@postern/message'
import { parseJsonText, plainTextOf, policiesOf, refusalKinds } from '@postern/message'
import type { AnsweredTurn, Delivery } from '@postern/pipeline'

/** Returns the delivery of an answer. The client reads the answer from the store, so a committed answer counts as delivered. */
export function addressRun({ turn }: AnsweredTurn) {
  return {
    deliveries: [{ to: `run:${runIdOf(turn.target)}`, target: turn.target, isPulled: true }],
    aliases: [],
  }
}

/** Returns the unchanged response. Streams and the history write it as AG-UI when a client reads it. */
export function renderResponse({ response }: Delivery): NormalizedResponse | null {
  return response ?? null
}

export function describeResponse(response: NormalizedResponse | null): Json {
  return parseJsonText(JSON.stringify(response)) as Json
}

/** Returns the AG-UI message of a response. */
export function showChatAnswer({ id, parts }: NormalizedResponse, fileAddress: FileAddress): Json {
  const files = listFiles(parts, fileAddress)
  const message = {
    id,
    role: 'assistant',
    content: writeBlocks(parts, fileAddress),
    ...(files.length > 0 && { files }),
  }
  return parseJsonText(JSON.stringify(message)) as Json
}

function runIdOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}

/** Returns the address of stored bytes by their digest. */
export type FileAddress = ((digest: string) => string) | undefined

/** Separates the blocks of one message. */
export const blockBreak = '\n\n'

/** A file in the metadata of the message whose text links to it. */
export interface FileView {
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

export function listFiles(parts: readonly Part[], fileAddress: FileAddress): readonly FileView[] {
  return parts.flatMap(part => (part.kind === 'file' || part.kind === 'artifact' ? [showFile(part, fileAddress)] : []))
}

function showFile(part: FilePart | ArtifactPart, fileAddress: FileAddress): FileView {
  const { kind, name, mime, size, bytes_ref } = part
  const sha256 = bytes_ref.kind === 'content_addressed' ? bytes_ref.digest : undefined
  return { kind, name, mime_type: mime, size, sha256, url: fileUrlOf(part, fileAddress) }
}

function fileUrlOf({ bytes_ref }: FilePart | ArtifactPart, fileAddress: FileAddress): string | undefined {
  const url = bytes_ref.kind === 'content_addressed' ? fileAddress?.(bytes_ref.digest) : undefined
  return url ?? (bytes_ref.kind === 'url' && isLinkable(bytes_ref.url) ? bytes_ref.url : undefined)
}

/** Writes any part as Markdown, because the content of an assistant's message is one string. */
export function writeBlock(part: Part, fileAddress: FileAddress): string {
  if (part.kind === 'text') return part.mime === 'text/html' ? htmlToMarkdown(part.content) : part.content
  if (part.kind === 'link') return writeLink(part)
  if (part.kind === 'policy') return part.policy.message
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  const { name = 'file' } = part
  const address = fileUrlOf(part, fileAddress)
  return address === undefined ? name : writeLink({ url: address, title: name })
}

/** Returns the text and links of an answer together. HTML becomes the Markdown that a chat shows. */
export function readChatText(parts: readonly Part[]): string {
  const isHtml = (part: Part) => part.kind === 'text' && part.mime === 'text/html'
  const markdownParts = parts.map(part => (isHtml(part) ? { ...part, content: writeBlock(part, undefined) } : part))
  return plainTextOf(markdownParts as readonly Part[])
}

/** Returns true for web pages and mailboxes only, because other addresses may run code in a browser. */
function isLinkable(url: string): boolean {
  return /^(https?|mailto):$/.test(URL.parse(url)?.protocol ?? '')
}

function writeLink({ url, title = url }: Pick<LinkPart, 'url' | 'title'>): string {
  if (!isLinkable(url)) return title
  return `[${title.replace(/[[\]\\]/g, '\\$&')}](${new URL(url).href.replace(/[()]/g, mark => (mark === '(' ? '%28' : '%29'))})`
}

/** The refusal of an agent to answer, which is shown in the run's error and in the history. */
export interface RefusalView {
  readonly kind: RefusalKind
  readonly title: string
  readonly retry_after_seconds?: number | undefined
}

/** The titles that a page may show above the message, if the agent names none. */
const refusalTitles: Readonly<Record<RefusalKind, string>> = {
  forbidden: 'Forbidden',
  too_many_requests: 'Too many requests',
  unavailable_for_legal_reasons: 'Unavailable for legal reasons',
  service_unavailable: 'Service unavailable',
}

/** Finds the first refusal in an answer, or returns undefined. */
export function findRefusal(parts: readonly Part[]): (RefusalView & { readonly message: string }) | undefined {
  for (const { kind: policyKind, title, message, retry_after_seconds } of policiesOf(parts)) {
    const kind = refusalKinds.find(refusalKind => refusalKind === policyKind)
    if (kind) return { kind, title: title ?? refusalTitles[kind], message, retry_after_seconds }
  }
  return undefined
}

/** Returns the error that ends a run whose answer is a refusal. */
export function describeRefusal({ parts }: Pick<NormalizedResponse, 'parts'>): {
  readonly message: string
  readonly code: string
  readonly details?: RefusalView
} {
  const refusal = findRefusal(parts)
  if (!refusal) return { message: readChatText(parts) || 'The agent refused', code: 'rejected' }
  const { message, ...details } = refusal
  return { message, code: details.kind, details }
}
