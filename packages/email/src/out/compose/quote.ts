import type { NormalizedMessage } from '@postern/core'
import { escapeHtml } from '@postern/core/html-characters'
import { plainToMailHtml } from '@postern/markup/markdown'
import { withoutControls } from '../../text/encoded-words.ts'

/** One level, as people do it; more is in their own programs. */
const maxQuoted = 10_000

interface Quote {
  readonly text: string
  readonly html: string
}

/** The answered message, for a quote below the answer; undefined when it had no text. */
export function quoteMessage(message: Pick<NormalizedMessage, 'parts' | 'sender' | 'received_at'>): Quote | undefined {
  const said = message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : [])).join('\n\n')
  const kept = said.length > maxQuoted ? `${said.slice(0, maxQuoted)}…` : said
  if (!kept.trim()) return undefined
  const { address, display_name: name } = message.sender
  const who = withoutControls(name ?? address.replace(/^@/, ''))
  const line = `On ${new Date(message.received_at).toUTCString()}, ${who} wrote:`
  const quoted = kept
    .split('\n')
    .map(each => (each.startsWith('>') ? `>${each}` : `> ${each}`.trimEnd()))
    .join('\n')
  return {
    text: `${line}\n${quoted}`,
    html: `<p dir="auto">${escapeHtml(line)}</p>\n<blockquote type="cite">${plainToMailHtml(kept)}</blockquote>`,
  }
}
