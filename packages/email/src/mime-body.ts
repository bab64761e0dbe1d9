import { createHash } from 'node:crypto'
import type { Attachment, ParsedMail } from 'mailparser'
import { simpleParser } from 'mailparser'
import type { MailLimits } from './config.ts'
import { safeFileName } from './file-name.ts'
import type { HeaderBlock } from './header-scan.ts'
import { textOfHtml } from './html-text.ts'
import type { MailBody, MailFile } from './mime-job.ts'
import { isBeyond, measureMime } from './mime-shape.ts'
import { trimReply } from './reply-trim.ts'

export interface BodyOptions {
  readonly keepsQuotes: boolean
  readonly limits: MailLimits
}

type ReadBody = Omit<MailBody, 'digest'>

/**
 * What a message says: its newest text and its files. A message too complex or too broken to read is not lost: it comes
 * back without content and with a flag.
 */
export async function readMailBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ReadBody> {
  if (isBeyond(measureMime(octets, header, options.limits), options.limits)) {
    return { text: '', files: [], flags: ['mime_limits'] }
  }
  try {
    const mail = await simpleParser(octets, {
      skipHtmlToText: true,
      skipTextToHtml: true,
      keepCidLinks: true,
      checksumAlgo: false,
      ignoreEmbedded: true,
    })
    return readParsed(mail, options)
  } catch {
    return { text: '', files: [], flags: ['unparsable'] }
  }
}

function readParsed(mail: ParsedMail, { keepsQuotes, limits }: BodyOptions): ReadBody {
  const { text, hasHidden } = chooseText(mail)
  const clean = cleanText(text)
  const trimmed = keepsQuotes ? clean : trimReply(clean)
  const files = mail.attachments.slice(0, limits.attachments).map(readFile)
  const flags = [
    ...(hasHidden ? ['hidden_text'] : []),
    ...(trimmed.length > limits.text_chars ? ['text_cut'] : []),
    ...(mail.attachments.length > files.length ? ['attachments_dropped'] : []),
  ]
  return { text: trimmed.slice(0, limits.text_chars), files, flags }
}

/** The plain text where there is one; the HTML only where there is none. */
function chooseText({ text, html }: ParsedMail): { readonly text: string; readonly hasHidden: boolean } {
  if (text?.trim() || !html) return { text: text ?? '', hasHidden: false }
  return textOfHtml(html)
}

/** One kind of line end; controls other than tab and line end carry nothing a reader sees. */
function cleanText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\t\n]/gu, '')
    .trim()
}

function readFile({ content, contentType, filename }: Attachment, index: number): MailFile {
  return {
    name: safeFileName(filename, index),
    mime: /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream',
    size: content.length,
    digest: createHash('sha256').update(content).digest('hex'),
    bytes: content,
  }
}
