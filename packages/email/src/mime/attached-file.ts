// Converts parsed attachments into files with safe names, types and digests.
import { hash } from 'node:crypto'
import { safeFileName } from '@postern/message/file-name'
import type { Attachment } from 'mailparser'
import type { MailFile } from '../body/mail-body.ts'
import { readCms } from '../entity/signed-data.ts'

/** A file, as a parser returns it. */
export interface ParsedFile extends Pick<Attachment, 'content' | 'contentType' | 'headers'> {
  readonly filename?: string | undefined
}

/** Returns the content type with the parameter that distinguishes the kinds of S/MIME. */
export function readFullType({ content, contentType, headers }: ParsedFile): string {
  const field = headers.get('content-type')
  const params = typeof field === 'object' && 'params' in field ? (field.params as Record<string, string>) : {}
  const kind = params['smime-type'] ?? (/pkcs7-mime$/i.test(contentType) ? readCms(content)?.kind : undefined)
  return kind ? `${contentType}; smime-type=${kind}` : contentType
}

/** Returns the SHA-256 of some bytes, in lower-case hex. */
export function digestBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}

/** Converts an attachment into a file. `index` numbers a file without a usable name. */
export function toMailFile({ content, contentType, filename }: ParsedFile, index: number): MailFile {
  return {
    name: safeFileName(filename, index),
    mime: /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream',
    size: content.length,
    digest: digestBytes(content),
    bytes: content,
  }
}
