import type { ArtifactPart, BytesRef, FilePart, Part, PolicyPart, ResponseStatus, ToolCallPart } from '@postern/core'
import { escapeHtml } from '@postern/core/html-characters'
import { htmlToText } from '@postern/markup/html'
import { alignTables, markdownToMailHtml, plainToMailHtml } from '@postern/markup/markdown'

/** A file that goes with the mail. */
export interface MailAttachment {
  readonly name: string
  readonly mime: string
  readonly bytes_ref: Exclude<BytesRef, { kind: 'url' }>
}

/** One part in both readings of a multipart/alternative. */
interface Block {
  readonly text: string
  readonly html: string
}

const statusTexts: Readonly<Record<ResponseStatus, string>> = {
  completed: '',
  input_required: 'More is needed to go on.',
  auth_required: 'Who you are has to be known first.',
  rejected: 'This was declined.',
  failed: 'This could not be done.',
  working: 'Still working on it.',
}

/** The text for people: every part as text and as HTML, in order. */
export function readableBody(parts: readonly Part[], status: ResponseStatus): Block {
  const blocks = parts.flatMap(part => blockOf(part) ?? [])
  const shown = blocks.length > 0 ? blocks : [plainBlock(statusTexts[status])]
  return { text: shown.map(({ text }) => text).join('\n\n'), html: shown.map(({ html }) => html).join('\n') }
}

/** The files among the parts whose bytes are ours to send; the others are linked in the text. */
export function attachedFiles(parts: readonly Part[]): MailAttachment[] {
  return parts.flatMap((part, index) => {
    if ((part.kind !== 'file' && part.kind !== 'artifact') || part.bytes_ref.kind === 'url') return []
    const { name, mime, bytes_ref } = part
    return [{ name: name ?? `attachment-${index + 1}`, mime: mime ?? 'application/octet-stream', bytes_ref }]
  })
}

function blockOf(part: Part): Block | undefined {
  switch (part.kind) {
    case 'text':
      return blockOfText(part)
    case 'link':
      return linkBlock(part.title ?? part.url, part.url, part.description)
    case 'policy':
      return policyBlock(part)
    case 'tool_call':
      return plainBlock(describeToolCall(part))
    case 'file':
    case 'artifact':
      return fileBlock(part)
    default:
      return undefined
  }
}

function blockOfText({ mime, content }: Extract<Part, { kind: 'text' }>): Block {
  if (mime === 'text/markdown') return { text: alignTables(content), html: markdownToMailHtml(content) }
  return plainBlock(mime === 'text/html' ? htmlToText(content).text : content)
}

function plainBlock(text: string): Block {
  return { text, html: plainToMailHtml(text) }
}

function linkBlock(title: string, url: string, description?: string): Block {
  const text = [title === url ? url : `${title}: ${url}`, description].filter(Boolean).join('\n')
  if (!/^(https?|mailto):/i.test(url)) return plainBlock(text)
  const more = description ? `<br>\n${escapeHtml(description)}` : ''
  return { text, html: `<p dir="auto"><a href="${escapeHtml(url)}">${escapeHtml(title)}</a>${more}</p>` }
}

function policyBlock({ policy }: PolicyPart): Block {
  const said = plainBlock([policy.title, policy.message].filter(Boolean).join('\n'))
  if (!policy.url) return said
  const until = typeof policy.expires_at === 'string' ? untilText(policy.expires_at) : undefined
  const link = linkBlock(policy.action_label ?? policy.url, policy.url, until)
  return { text: `${said.text}\n${link.text}`, html: `${said.html}\n${link.html}` }
}

function untilText(expiresAt: string): string {
  return `This link is for you alone. It can be used once, until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC.`
}

function describeToolCall({ name, args, result, error }: ToolCallPart): string {
  const call = `${name}(${args === undefined ? '' : shorten(args)})`
  if (error) return `${call} failed: ${error.message}`
  return result === undefined ? call : `${call} → ${shorten(result)}`
}

function shorten(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}

/** Attachments need no words; files elsewhere are linked. */
function fileBlock({ name, bytes_ref }: FilePart | ArtifactPart): Block | undefined {
  return bytes_ref.kind === 'url' ? linkBlock(name ?? bytes_ref.url, bytes_ref.url) : undefined
}
