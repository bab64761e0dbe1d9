// The built-in agent that repeats a message with its sender and their proof.

import type { NormalizedMessage, Part, Sender } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { readReceivedText } from '../kind/received-text.ts'

/** The maximum length of a quotation, UTF-16 code units. */
const maxQuotedChars = 4_000

/** Creates the agent that quotes each message, with the sender's address and proof. */
export function createEchoAgent(): Agent {
  return { handle: message => [quoteReceived(message), ...describeSender(message.sender)].join('\n') }
}

function quoteReceived(message: NormalizedMessage): string {
  const text = clip(readReceivedText(message)) || '(no text)'
  const lines = [...text.split('\n'), ...message.parts.map(fileNameOf).filter(Boolean)]
  return `${lines.map(line => `> ${line}`.trimEnd()).join('\n')}\n`
}

function describeSender(sender: Sender): readonly string[] {
  const issuer = sender.identities?.find(({ proof }) => proof.type === 'transport')?.issuer
  const facts = [
    ['From', sender.address],
    ['Proven by', asCode(sender.auth_method)],
    ['Verified', sender.verified ? 'yes' : 'no'],
    ['Key', asCode(sender.key_id)],
    ['Issuer', asCode(issuer)],
  ]
  return facts.filter(([, value]) => value).map(([label, value]) => `- **${label}:** ${value}`)
}

function fileNameOf(part: Part): string {
  if (part.kind !== 'file' && part.kind !== 'artifact') return ''
  return `[${part.kind}: ${part.name ?? part.description ?? 'unnamed'}${part.mime ? `, ${part.mime}` : ''}]`
}

// A key id is text of the peer, so it must not break out of its code span or its line.
function asCode(text: string | undefined): string | undefined {
  return text && `\`${text.replace(/[`\p{Cc}]/gu, '')}\``
}

function clip(text: string): string {
  return text.length > maxQuotedChars ? `${text.slice(0, maxQuotedChars).toWellFormed()}…` : text
}
