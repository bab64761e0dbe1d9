import { createHash } from 'node:crypto'
import type { Attachment } from 'mailparser'
import type { MailFile } from '../body/mail-body.ts'
import { safeFileName } from '../text/file-name.ts'

/** The content type with the parameters that distinguish kinds of S/MIME. */
export function fullTypeOf({ contentType, headers }: Attachment): string {
  const field = headers.get('content-type')
  const params = typeof field === 'object' && 'params' in field ? (field.params as Record<string, string>) : {}
  const kind = params['smime-type']
  return kind ? `${contentType}; smime-type=${kind}` : contentType
}

/** The invisible characters that can spell words; the others show how a name deceives. */
export function withoutTags(name: string): string {
  return name.replace(/[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu, '')
}

export function digestBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function readFile({ content, contentType, filename }: Attachment, index: number): MailFile {
  return {
    name: safeFileName(filename, index),
    mime: /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream',
    size: content.length,
    digest: digestBytes(content),
    bytes: content,
  }
}
