// Creates the built-in agent that repeats a message with its sender and their proof.

import type { NormalizedMessage, Part, Sender } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { readReceivedText } from '../kind/received-text.ts'

/** The maximum length of a quotation, UTF-16 code units. */
const maxQuotedChars = 4_000

/** Creates the agent that quotes each message, with the sender's address and proof. */
export function createEchoAgent(): Agent {
  return { handle: message => [quoteMessage(message), ...describeSender(message.sender)].join('\n') }
}

function quoteMessage(message: NormalizedMessage): string {
  const text = truncateQuotation(readReceivedText(message)) || '(no text)'
  const lines = [...text.split('\n'), ...message.parts.map(describeFile).filter(Boolean)]
  return `${lines.map(line => `> ${line}`.trimEnd()).join('\n')}\n`
}

function describeSender(sender: Sender): readonly string[] {
  const issuer = sender.identities?.find(({ proof }) => proof.type === 'transport')?.issuer
  const rows = [
    ['From', sender.address],
    ['Proven by', toCodeSpan(sender.auth_method)],
    ['Verified', sender.verified ? 'yes' : 'no'],
    ['Key', toCodeSpan(sender.key_id)],
    ['Issuer', toCodeSpan(issuer)],
  ]
  return rows.filter(([, value]) => value).map(([label, value]) => `- **${label}:** ${value}`)
}

function describeFile(part: Part): string {
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  return `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}${part.mime ? `, ${part.mime}` : ''}]`
}

/** Formats text as a code span. A key id is text of the peer, so it must not end the code span or the line. */
function toCodeSpan(text: string | undefined): string | undefined {
  return text && `\`${text.replace(/[`\p{Cc}]/gu, '')}\``
}

function truncateQuotation(text: string): string {
  return text.length > maxQuotedChars ? `${text.slice(0, maxQuotedChars).toWellFormed()}…` : text
}
