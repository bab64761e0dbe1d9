// Converts between messages of the gateway and messages of Chat SDK.
import type { NormalizedMessage, Part } from '@postern/message'
import type { AdapterPostableMessage, Attachment, Author, FileUpload } from 'chat'
import { BaseFormatConverter, Message, parseMarkdown, stringifyMarkdown, toPlainText } from 'chat'
import { fetchServedFile } from './fetch-file.ts'

/** Returns the agent that a message is for, by the local part of its address. */
function agentOf({ recipient }: Pick<NormalizedMessage, 'recipient'>): string {
  const [local = ''] = recipient.replace(/^@/, '').split('@')
  return local
}

export type PosternMessage = Message<NormalizedMessage>

/** The addresses of the gateway for a bot that fetches a file. */
export interface GatewayAddress {
  /** The `origin` of its configuration, with which the addresses of its files begin. Default: `https://` with the host of its agents. */
  readonly origin?: string | undefined
  /** An address at which the bot reaches the gateway, whatever its origin is. */
  readonly reachableUrl?: string | undefined
}

/** Converts a message of the gateway for Chat SDK. Every message is for the agent, so each counts as a mention. */
export function toChatMessage(raw: NormalizedMessage, gateway: GatewayAddress = {}): PosternMessage {
  const formattedText = parseMarkdown(textOf(raw.parts))
  return new Message({
    id: raw.id,
    threadId: formatThreadId({ agent: agentOf(raw), thread: raw.thread_id }),
    text: toPlainText(formattedText),
    formatted: formattedText,
    raw,
    author: readAuthor(raw),
    metadata: { dateSent: new Date(raw.received_at), edited: false },
    attachments: raw.parts.flatMap(part => readAttachment(part, { origin: originOf(raw), ...gateway })),
    isMention: true,
  })
}

/** Returns the gateway's origin if it has the host of its agents. */
function originOf({ recipient }: Pick<NormalizedMessage, 'recipient'>): string {
  return `https://${recipient.split('@').at(-1)}`
}

/** Reads the author. The address is the user's id only if it was proven; an unproven address is marked as such. */
function readAuthor({ sender, received_via }: NormalizedMessage): Author {
  const { address, verified, display_name } = sender
  return {
    userId: verified ? address : `unverified:${address}`,
    userName: address.replace(/^@/, ''),
    fullName: display_name ?? address,
    ...(verified && received_via === 'email' && { email: address }),
    isBot: 'unknown',
    isMe: false,
  }
}

function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap(part => (part.kind === 'text' ? part.content : part.kind === 'link' ? part.url : []))
    .join('\n\n')
}

const mediaFamilies = new Set(['image', 'video', 'audio'])

/**
 * Reads a file as an attachment. A file that the gateway serves can be fetched. A file at a peer's own address keeps only the address,
 * because it may lead anywhere.
 */
function readAttachment(part: Part, gateway: GatewayAddress): readonly Attachment[] {
  if (part.kind !== 'file' && part.kind !== 'artifact') return []
  const { bytes_ref, mime, name, size } = part
  const [family = ''] = (mime ?? '').split('/')
  const commonMembers = {
    type: (mediaFamilies.has(family) ? family : 'file') as Attachment['type'],
    ...(mime !== undefined && { mimeType: mime }),
    ...(name !== undefined && { name }),
    ...(size !== undefined && { size }),
  }
  if (bytes_ref.kind === 'inline') return [{ ...commonMembers, data: Buffer.from(bytes_ref.data_base64, 'base64') }]
  const { url } = bytes_ref
  if (url === undefined) return [commonMembers]
  const servedUrl = bytes_ref.kind === 'content_addressed' ? findServedUrl(new URL(url), gateway) : undefined
  if (bytes_ref.kind === 'url' || !servedUrl) return [{ ...commonMembers, url }]
  return [rehydrateAttachment({ ...commonMembers, url, fetchMetadata: { url: servedUrl, digest: bytes_ref.digest } })]
}

/** Returns the address at which the gateway serves a file, or undefined for an address of another server. */
function findServedUrl({ origin, pathname, search }: URL, gateway: GatewayAddress): string | undefined {
  const { reachableUrl } = gateway
  // In dev mode a gateway reports where it listens, because its origin leads elsewhere.
  const isGatewayOrigin =
    origin === gateway.origin || (reachableUrl !== undefined && origin === new URL(reachableUrl).origin)
  const isServed = isGatewayOrigin && pathname.startsWith('/attachments/')
  return isServed ? new URL(pathname + search, reachableUrl ?? origin).href : undefined
}

/** Restores the function that fetches the bytes of an attachment, because Chat SDK stores attachments as JSON. */
export function rehydrateAttachment(attachment: Attachment): Attachment {
  const { url, digest } = attachment.fetchMetadata ?? {}
  return url && digest ? { ...attachment, fetchData: () => fetchServedFile({ url, digest }) } : attachment
}

/** The format of the adapter. The gateway accepts Markdown and converts it for each channel, so both conversions are those of the SDK. */
class PosternFormat extends BaseFormatConverter {
  fromAst = stringifyMarkdown
  toAst = parseMarkdown
}

export const posternFormat = new PosternFormat()

/** Converts a post of the bot to parts of an answer: its text, a card as the text that stands for it, and its files. */
export async function writePostable(message: AdapterPostableMessage): Promise<readonly Part[]> {
  const content = renderText(message)
  const files = typeof message === 'object' && 'files' in message ? (message.files ?? []) : []
  const text: readonly Part[] = content === '' ? [] : [{ kind: 'text', mime: 'text/markdown', content }]
  return [...text, ...(await Promise.all(files.map(writeFile)))]
}

/** Renders the text of a post. Markdown stays unchanged, because parsing and rendering it again would turn addresses into links. */
function renderText(message: AdapterPostableMessage): string {
  if (typeof message === 'string') return message
  if ('raw' in message) return message.raw
  return 'markdown' in message ? message.markdown : posternFormat.renderPostable(message)
}

async function writeFile({ data, filename, mimeType = 'application/octet-stream' }: FileUpload): Promise<Part> {
  const bytes = data instanceof Blob ? await data.arrayBuffer() : data
  const data_base64 = Buffer.from(bytes as ArrayBuffer).toString('base64')
  return { kind: 'file', mime: mimeType, name: filename, bytes_ref: { kind: 'inline', data_base64 } }
}

/** A conversation of one agent. */
export interface PosternThread {
  /** The local part of the agent's address. */
  readonly agent: string
  /** The gateway's `thread_id`. */
  readonly thread: string
}

const threadIdPrefix = 'postern'

/** Formats `postern:<agent>:<thread in base64url>`. The text before the last colon is the channel, and each agent has one channel. */
export function formatThreadId({ agent, thread }: PosternThread): string {
  return [threadIdPrefix, agent, Buffer.from(thread).toString('base64url')].join(':')
}

/**
 * Parses the id of a thread.
 * @throws Error for an id of another adapter
 */
export function parseThreadId(id: string): PosternThread {
  const [scheme, agent, encodedThread, ...otherParts] = id.split(':')
  if (scheme !== threadIdPrefix || !agent || !encodedThread || otherParts.length > 0)
    throw new Error(`Cannot read thread "${id}": expected postern:<agent>:<thread>`)
  return { agent, thread: Buffer.from(encodedThread, 'base64url').toString('utf8') }
}
