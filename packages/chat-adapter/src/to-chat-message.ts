import type { NormalizedMessage, Part } from '@postern/core'
import type { Attachment, Author } from 'chat'
import { Message, parseMarkdown, toPlainText } from 'chat'
import { formatThreadId } from './thread-id.ts'

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
