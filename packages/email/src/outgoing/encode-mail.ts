// Encodes a rendered mail with its files as octets.

import { escapeHtml, lazy } from '@postern/message'
import { safeFileName } from '@postern/message/file-name'
import type { LookupStore } from '@postern/pipeline'
import { hopField } from '../tokens/hop-field.ts'
import type { MailAttachment, OutgoingMail } from './outgoing-mail.ts'

/**
 * The maximum size of all attached files, in octets. Receivers commonly accept 25 MB, and base64 turns three octets
 * into four.
 */
const maxAttachedBytes = 18 * 1024 * 1024

/** The header fields with tokens that only this gateway can write, because its key signs them. */
interface TokenFields {
  /** The address for replies, if it differs from the address of the sender. */
  readonly replyTo: string | undefined
  /** The hop field, by which the gateway recognizes its own mail when it returns. */
  readonly hop: string
  /** The link with which the recipient unsubscribes from unasked mail. */
  readonly unsubscribeUrl: string | undefined
}

/** Loads the library once, because every `import()` resolves the name of the module again. */
const loadComposer = lazy(() => import('nodemailer/lib/mail-composer'))

/**
 * Encodes a mail as text and HTML alternatives with its files. All header fields are written by the gateway. Nothing in
 * the mail depends on the time of the call, so a second attempt sends the same octets. The text has a note for each
 * file that is deleted or too large.
 */
export async function encodeMail(
  mail: OutgoingMail,
  tokenFields: TokenFields,
  store: Pick<LookupStore, 'findBlob'>,
): Promise<Buffer> {
  const loadedFiles = await Promise.all(mail.attachments.map((file, index) => loadAttachment(file, index, store)))
  const { attachments, fileNotes } = chooseAttachments(loadedFiles)
  const { default: MailComposer } = await loadComposer()
  const composer = new MailComposer({
    ...describeHeader(mail, tokenFields),
    text: [mail.text, ...fileNotes].join('\n\n'),
    html: fileNotes.length > 0 ? appendNotes(mail.html, fileNotes) : mail.html,
    attachments,
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
    baseBoundary: mail.messageId.replace(/[^0-9a-z]/gi, '').slice(0, 40),
  } as ConstructorParameters<typeof MailComposer>[0])
  return composer.compile().build()
}

function describeHeader(mail: OutgoingMail, { replyTo, hop, unsubscribeUrl }: TokenFields) {
  const { from, to, alsoTo, cc, isLetter, subject, messageId, inReplyTo, references, threadTopic, threadIndex, date } =
    mail
  return {
    from,
    to: [to, ...alsoTo],
    ...(cc.length > 0 && { cc: [...cc] }),
    ...(replyTo && { replyTo }),
    subject,
    date: new Date(date),
    messageId: `<${messageId}>`,
    ...(inReplyTo && { inReplyTo: `<${inReplyTo}>` }),
    ...(references.length > 0 && { references: references.map(id => `<${id}>`) }),
    headers: {
      // Automatic mail declares itself (RFC 3834 §5), and asks other machines not to answer it.
      'Auto-Submitted': isLetter ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
      [hopField]: hop,
      // These fields give the reader's mail program a one-click link (RFC 8058).
      ...(unsubscribeUrl && {
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
      ...(threadTopic && { 'Thread-Topic': threadTopic }),
      ...(threadIndex && { 'Thread-Index': threadIndex }),
    },
  }
}

async function loadAttachment(
  { name, mime, bytes_ref }: MailAttachment,
  index: number,
  store: Pick<LookupStore, 'findBlob'>,
) {
  const filename = safeFileName(name, index)
  const contentType = /^[\w.+-]+\/[\w.+-]+$/.test(mime) ? mime : 'application/octet-stream'
  if (bytes_ref.kind === 'inline')
    return { filename, contentType, content: Buffer.from(bytes_ref.data_base64, 'base64') }
  const blob = await store.findBlob(bytes_ref.digest)
  return { filename, contentType, content: blob && Buffer.from(blob.bytes) }
}

type LoadedFile = Awaited<ReturnType<typeof loadAttachment>>

/** Chooses the files that fit, in their order, and writes a note for each file that is left out. */
function chooseAttachments(files: readonly LoadedFile[]) {
  const attachments: (LoadedFile & { readonly content: Buffer })[] = []
  const fileNotes: string[] = []
  let remainingBytes = maxAttachedBytes
  for (const { content, ...file } of files) {
    if (content === undefined) fileNotes.push(`${file.filename}: this file is not stored any more.`)
    else if (content.length > remainingBytes) fileNotes.push(`${file.filename}: this file is too large for a mail.`)
    else {
      attachments.push({ ...file, content })
      remainingBytes -= content.length
    }
  }
  return { attachments, fileNotes }
}

function appendNotes(html: string, notes: readonly string[]): string {
  const lines = notes.map(note => `<p>${escapeHtml(note)}</p>`).join('')
  const end = html.lastIndexOf('</body>')
  return end < 0 ? html + lines : html.slice(0, end) + lines + html.slice(end)
}
