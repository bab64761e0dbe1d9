import type { LookupStore } from '@postern/core'
import { escapeHtml, lazy } from '@postern/core'
import { safeFileName } from '../../text/file-name.ts'
import { hopField } from '../../tokens/hop-field.ts'
import type { MailAttachment } from './readable-body.ts'
import type { MailWire } from './wire.ts'

/** Receivers commonly take 25 MB, and base64 makes four octets of three. */
const maxAttached = 18 * 1024 * 1024

/** The fields that only this gateway can write, signed with its key. */
interface MailMarks {
  /** The address for answers, when it is not the sender's. */
  readonly replyTo: string | undefined
  /** The hop field: by it our mail is known when it comes back. */
  readonly hop: string
  /** By it the recipient ends mail that was not asked for. */
  readonly unsubscribeUrl: string | undefined
}

/** Loaded with the first mail; naming it anew with each would be looked up anew. */
const loadComposer = lazy(() => import('nodemailer/lib/mail-composer'))

/**
 * The mail as octets: text and HTML alternatives, files beside them, every header our own. Nothing in it depends on the
 * moment, so a second try sends the same octets. The words go out in any case: a file that is gone or too large is
 * named instead.
 */
export async function encodeMail(
  wire: MailWire,
  marks: MailMarks,
  store: Pick<LookupStore, 'findBlob'>,
): Promise<Buffer> {
  const loaded = await Promise.all(wire.attachments.map((file, index) => loadAttachment(file, index, store)))
  const { attachments, missing } = chooseAttached(loaded)
  const { default: MailComposer } = await loadComposer()
  const composer = new MailComposer({
    ...headerOf(wire, marks),
    text: [wire.text, ...missing].join('\n\n'),
    html: missing.length > 0 ? appendNotes(wire.html, missing) : wire.html,
    attachments,
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
    baseBoundary: wire.messageId.replace(/[^0-9a-z]/gi, '').slice(0, 40),
  } as ConstructorParameters<typeof MailComposer>[0])
  return composer.compile().build()
}

function headerOf(wire: MailWire, { replyTo, hop, unsubscribeUrl }: MailMarks) {
  const { from, to, alsoTo, cc, isLetter, subject, messageId, inReplyTo, references, threadTopic, threadIndex, date } =
    wire
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
      // RFC 3834 §5: automatic mail declares itself, and asks other machines not to answer it.
      'Auto-Submitted': isLetter ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
      [hopField]: hop,
      // RFC 8058: one click in the reader's mail program.
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

type Loaded = Awaited<ReturnType<typeof loadAttachment>>
type Attached = Loaded & { readonly content: Buffer }

/** As many files as fit, in their order; a line for each of the others. */
function chooseAttached(loaded: readonly Loaded[]) {
  const attachments: Attached[] = []
  const missing: string[] = []
  let room = maxAttached
  for (const { content, ...file } of loaded) {
    if (content === undefined) missing.push(`${file.filename}: this file is not stored any more.`)
    else if (content.length > room) missing.push(`${file.filename}: this file is too large for a mail.`)
    else {
      attachments.push({ ...file, content })
      room -= content.length
    }
  }
  return { attachments, missing }
}

function appendNotes(html: string, notes: readonly string[]): string {
  const lines = notes.map(note => `<p>${escapeHtml(note)}</p>`).join('')
  const end = html.lastIndexOf('</body>')
  return end < 0 ? html + lines : html.slice(0, end) + lines + html.slice(end)
}
