import type { NormalizedMessage, Part } from '@postern/core'
import type { AdapterPostableMessage, Attachment, Author, FileUpload } from 'chat'
import { BaseFormatConverter, Message, parseMarkdown, stringifyMarkdown, toPlainText } from 'chat'

/** The agent that a message is for, by the local part of its address. */
function agentOf({ recipient }: Pick<NormalizedMessage, 'recipient'>): string {
  const [local = ''] = recipient.replace(/^@/, '').split('@')
  return local
}

/** A message of the gateway as Chat SDK has it. Every message is for the agent, so each counts as a mention. */
export function toChatMessage(raw: NormalizedMessage): Message<NormalizedMessage> {
  const formatted = parseMarkdown(textOf(raw.parts))
  return new Message({
    id: raw.id,
    threadId: formatThreadId({ agent: agentOf(raw), thread: raw.thread_id }),
    text: toPlainText(formatted),
    formatted,
    raw,
    author: readAuthor(raw),
    metadata: { dateSent: new Date(raw.received_at), edited: false },
    attachments: raw.parts.flatMap(readAttachment),
    isMention: true,
  })
}

/** The address is the user's id only if it was proven; nobody is who they claim to be otherwise. */
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

const families = new Set(['image', 'video', 'audio'])

function readAttachment(part: Part): readonly Attachment[] {
  if (part.kind !== 'file' && part.kind !== 'artifact') return []
  const { bytes_ref, mime, name, size } = part
  const [family = ''] = (mime ?? '').split('/')
  const common = {
    type: (families.has(family) ? family : 'file') as Attachment['type'],
    ...(mime !== undefined && { mimeType: mime }),
    ...(name !== undefined && { name }),
    ...(size !== undefined && { size }),
  }
  if (bytes_ref.kind === 'inline') return [{ ...common, data: Buffer.from(bytes_ref.data_base64, 'base64') }]
  if (bytes_ref.kind !== 'url') return [common]
  const { url } = bytes_ref
  return [{ ...common, url, fetchData: async () => (await fetch(url)).arrayBuffer() }]
}

/** The gateway takes Markdown and writes it for each channel, so both ways are the SDK's own. */
class PosternFormat extends BaseFormatConverter {
  fromAst = stringifyMarkdown
  toAst = parseMarkdown
}

export const posternFormat = new PosternFormat()

/** What the bot posts as parts of an answer: its text, a card as the text that stands for it, and its files. */
export async function writePostable(message: AdapterPostableMessage): Promise<readonly Part[]> {
  const content = renderText(message)
  const files = typeof message === 'object' && 'files' in message ? (message.files ?? []) : []
  const text: readonly Part[] = content === '' ? [] : [{ kind: 'text', mime: 'text/markdown', content }]
  return [...text, ...(await Promise.all(files.map(writeFile)))]
}

/** What is Markdown already stays as it is: to read and write it anew would make links of addresses. */
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
  /** Local part of the agent's address. */
  readonly agent: string
  /** `thread_id` of the gateway. */
  readonly thread: string
}

const prefix = 'postern'

/** `postern:<agent>:<thread in base64url>`: what is before the last colon is the channel, and an agent has one. */
export function formatThreadId({ agent, thread }: PosternThread): string {
  return [prefix, agent, Buffer.from(thread).toString('base64url')].join(':')
}

/** @throws Error for an id of another adapter */
export function parseThreadId(id: string): PosternThread {
  const [head, agent, encoded, ...rest] = id.split(':')
  if (head !== prefix || !agent || !encoded || rest.length > 0)
    throw new Error(`Cannot read thread "${id}": expected postern:<agent>:<thread>`)
  return { agent, thread: Buffer.from(encoded, 'base64url').toString('utf8') }
}
